#pragma once

/// Output of verbs, never half-written and never a silent overwrite.
///
/// OutputFolder collects files in `.NAME.partial` beside the target and renames it when committed;
/// what is not committed is removed. Existing output needs `force`, which replaces a folder only if
/// it is empty or holds `marker_file` of this program (common/replaceable_folder.h) and none of the
/// verb's `inputs`, which would be deleted with it. Errors:
/// FAILED_PRECONDITION OUTPUT_EXISTS, FILE_UNWRITABLE; INVALID_ARGUMENT ARGUMENT_INVALID. One
/// folder, one thread.

#include <filesystem>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer::cli {

class OutputFolder {
 public:
  static StatusOr<OutputFolder> Create(const std::string& path, const std::string& marker_file,
                                       bool force, const std::vector<std::string>& inputs = {});
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  /// Folder to write to until Commit.
  const std::filesystem::path& partial() const { return partial_; }
  /// What the folder will be called.
  std::string name() const { return target_.filename().string(); }
  /// Path of a file inside, its parent folders made.
  StatusOr<std::string> FilePath(const std::string& relative_path) const;
  /// Every file below `from`, at its place below `relative_folder`: a second name for its bytes, or
  /// a copy of them on another file system.
  Status Take(const std::filesystem::path& from,
              const std::filesystem::path& relative_folder = {}) const;
  /// Replaces the target by what was written.
  Status Commit();

 private:
  OutputFolder(std::filesystem::path target, std::filesystem::path partial, std::string marker_file,
               bool force);

  std::filesystem::path target_;
  std::filesystem::path partial_;
  std::string marker_file_;
  bool force_ = false;
  bool is_done_ = false;
};

/// OUTPUT_EXISTS when `path` exists and `force` is false.
Status CheckNoOutput(const std::string& path, bool force);
/// ARGUMENT_INVALID when an input lies in the `output` that is replaced; empty ones are none.
Status CheckInputsOutside(const std::string& output, const std::vector<std::string>& inputs);
Status MakeFolders(const std::filesystem::path& folder);

}  // namespace interlacer::cli
