#include "common/replaceable_folder.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/file_io.h"
#include "common/json.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

bool IsOurs(const fs::path& marker) {
  const auto document = ReadJsonFile(marker.string());
  if (!document.ok() || !document->is_object()) return false;
  const auto schema = document->find("schema");
  return schema != document->end() && schema->is_string() &&
         schema->get_ref<const std::string&>().starts_with("interlacer.");
}

fs::path Canonical(const std::string& path) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(fs::absolute(path, error), error);
  return canonical.has_filename() ? canonical : canonical.parent_path();
}

}  // namespace

Status CheckReplaceable(const std::string& path, const std::string& marker_file) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return Status::Ok();
  if (fs::is_directory(path, error) &&
      (fs::is_empty(path, error) || IsOurs(fs::path(path) / marker_file))) {
    return Status::Ok();
  }
  return FailedPrecondition(reason::OUTPUT_EXISTS,
                            path + " exists and is no earlier output (no " + marker_file +
                                " of this program in it); it is not replaced, choose another name")
      .WithField(path);
}

Status MoveFolder(const std::string& fresh, const std::string& path, const std::string& old) {
  std::error_code error, ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) {
    fs::rename(fresh, path, error);
  } else if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh, ignored);
  } else {
    fs::remove_all(old, ignored);
    fs::rename(path, old, error);
    if (!error) fs::rename(fresh, path, error);
    if (!error) fs::remove_all(old, ignored);
  }
  return error ? CannotWrite(path, error) : Status::Ok();
}

Status ReplaceFolder(const std::string& fresh, const std::string& path,
                     const std::string& marker_file) {
  INTERLACER_RETURN_IF_ERROR(CheckReplaceable(path, marker_file));
  const fs::path target(path);
  return MoveFolder(fresh, path,
                    (target.parent_path() / ("." + target.filename().string() + ".old")).string());
}

bool LiesIn(const std::string& path, const std::string& folder) {
  const fs::path inner = Canonical(path), outer = Canonical(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

bool AreNested(const std::string& a, const std::string& b) { return LiesIn(a, b) || LiesIn(b, a); }

}  // namespace interlacer
