#include "cli/output.h"

#include <system_error>
#include <utility>

#include "common/file_io.h"
#include "common/replaceable_folder.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

Status LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return Status::Ok();
  fs::copy_file(from, to, error);
  return error ? CannotWrite(to.string(), error) : Status::Ok();
}

Status CannotRead(const fs::path& path, const std::error_code& error) {
  return NotFound(reason::FILE_NOT_FOUND, path.string() + ": " + error.message())
      .WithField(path.string());
}

}  // namespace

Status MakeFolders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? CannotWrite(folder.string(), error) : Status::Ok();
}

Status CheckNoOutput(const std::string& path, bool force) {
  std::error_code error;
  if (force || !fs::exists(fs::symlink_status(path, error))) return Status::Ok();
  return FailedPrecondition(reason::OUTPUT_EXISTS, path + " exists; --force replaces it")
      .WithField(path);
}

Status CheckInputsOutside(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input.empty() || !LiesIn(input, output)) continue;
    return Mismatch(reason::ARGUMENT_INVALID, "--output",
                    "a folder without the input " + input + ", which would be deleted", output);
  }
  return Status::Ok();
}

OutputFolder::OutputFolder(fs::path target, fs::path partial, std::string marker_file, bool force)
    : target_(std::move(target)),
      partial_(std::move(partial)),
      marker_file_(std::move(marker_file)),
      force_(force) {}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : target_(std::move(other.target_)),
      partial_(std::move(other.partial_)),
      marker_file_(std::move(other.marker_file_)),
      force_(other.force_),
      is_done_(std::exchange(other.is_done_, true)) {}

OutputFolder::~OutputFolder() {
  if (is_done_) return;
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

StatusOr<OutputFolder> OutputFolder::Create(const std::string& path, const std::string& marker_file,
                                            bool force, const std::vector<std::string>& inputs) {
  // "out/" and "out" are one folder.
  fs::path target = fs::path(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (target.empty() || target == "." || target == ".." || target == "/") {
    return Mismatch(reason::ARGUMENT_INVALID, "--output", "a folder to create", path);
  }
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(target.string(), force));
  INTERLACER_RETURN_IF_ERROR(CheckInputsOutside(target.string(), inputs));
  INTERLACER_RETURN_IF_ERROR(CheckReplaceable(target.string(), marker_file));
  const fs::path partial = target.parent_path() / ("." + target.filename().string() + ".partial");
  std::error_code error;
  fs::remove_all(partial, error);
  if (error) return CannotWrite(partial.string(), error);
  INTERLACER_RETURN_IF_ERROR(MakeFolders(partial));
  return OutputFolder(target, partial, marker_file, force);
}

StatusOr<std::string> OutputFolder::FilePath(const std::string& relative_path) const {
  const fs::path path = partial_ / relative_path;
  INTERLACER_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  return path.string();
}

Status OutputFolder::Take(const fs::path& from, const fs::path& relative_folder) const {
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(from, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const bool is_file = entry->is_regular_file(error);
    if (error && error != std::errc::no_such_file_or_directory) {  // a link to what is gone
      return CannotRead(entry->path(), error);
    }
    error.clear();
    if (!is_file) continue;
    const fs::path relative = relative_folder / entry->path().lexically_relative(from);
    INTERLACER_ASSIGN_OR_RETURN(const std::string target, FilePath(relative.string()));
    INTERLACER_RETURN_IF_ERROR(LinkOrCopy(entry->path(), target));
  }
  return error ? CannotRead(from, error) : Status::Ok();
}

Status OutputFolder::Commit() {
  if (force_) {
    INTERLACER_RETURN_IF_ERROR(ReplaceFolder(partial_.string(), target_.string(), marker_file_));
  } else {
    std::error_code error;
    fs::rename(partial_, target_, error);
    if (error) return CannotWrite(target_.string(), error);
  }
  is_done_ = true;
  return Status::Ok();
}

}  // namespace interlacer::cli
