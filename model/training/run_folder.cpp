#include "model/training/run_folder.h"

#include <filesystem>

#include "common/file_io.h"
#include "common/json.h"
#include "common/replaceable_folder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr char kOldSuffix[] = ".old";
constexpr char kPartialSuffix[] = ".partial";

/// An error that names the first key that differs, because a configuration is long.
Status OtherConfig(const std::string& path, const std::string& stored, const std::string& now) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json then, ParseJson(stored, path));
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json got, ParseJson(now, path));
  const nlohmann::json patch = nlohmann::json::diff(then, got);
  const std::string key = patch.empty() ? "" : patch[0].value("path", "");
  const auto text = [&](const nlohmann::json& config) {
    const nlohmann::json::json_pointer pointer(key);
    return config.contains(pointer) ? config.at(pointer).dump() : std::string("nothing");
  };
  return Mismatch(reason::CONFIG_INVALID, path + ": " + key,
                  text(then) + ", which the run began with", text(got));
}

}  // namespace

StatusOr<bool> OpenRunFolder(const RunPaths& paths, const std::string& config, EarlierRun earlier,
                             const std::function<Status()>& write_inputs) {
  std::error_code error;
  if (fs::exists(paths.config(), error)) {
    if (earlier == EarlierRun::kResume) {
      INTERLACER_ASSIGN_OR_RETURN(const std::string stored, ReadTextFile(paths.config()));
      if (stored != config) return OtherConfig(paths.config(), stored, config);
      return true;
    }
    if (earlier == EarlierRun::kRefuse) {
      return FailedPrecondition(reason::OUTPUT_EXISTS,
                                "a run is there already; resume it, overwrite it, or choose "
                                "another folder")
          .WithField(paths.dir);
    }
    // Half-renamed files of a killed run would otherwise be taken for those of the new run.
    for (const char* suffix : {"", kOldSuffix, kPartialSuffix}) {
      fs::remove_all(paths.checkpoint() + suffix, error);
      if (error) return CannotWrite(paths.checkpoint() + suffix, error);
    }
  }
  fs::create_directories(paths.dir, error);
  if (error) return CannotWrite(paths.dir, error);
  INTERLACER_RETURN_IF_ERROR(write_inputs());
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(paths.config(), config));
  return false;
}

Status ReplaceCheckpoint(const RunPaths& paths,
                         const std::function<Status(const std::string& folder)>& write) {
  const std::string partial = paths.checkpoint() + kPartialSuffix;
  const std::string old = paths.checkpoint() + kOldSuffix;
  std::error_code error;
  fs::remove_all(partial, error);
  fs::create_directories(partial, error);
  if (error) return CannotWrite(partial, error);
  INTERLACER_RETURN_IF_ERROR(write(partial));
  fs::remove_all(old, error);
  return MoveFolder(partial, paths.checkpoint(), old);
}

StatusOr<bool> FindCheckpoint(const RunPaths& paths) {
  std::error_code error;
  bool is_there = fs::exists(paths.checkpoint(), error);
  // A run killed where MoveFolder needs two renames leaves only the old checkpoint.
  const std::string old = paths.checkpoint() + kOldSuffix;
  if (!is_there && !error && fs::exists(old, error)) {
    fs::rename(old, paths.checkpoint(), error);
    is_there = true;
  }
  if (error) return CannotWrite(paths.checkpoint(), error);
  return is_there;
}

}  // namespace interlacer
