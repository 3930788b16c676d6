#pragma once

/// Finds the files of a recording. Thread-safe.

#include <initializer_list>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// `name` inside `source_dir` if it is there, else as it is if that is there, else inside; absolute
/// names are kept.
std::string SourcePath(const std::string& source_dir, const std::string& name);

/// Whether a regular file with content is there: recorders that are stopped leave empty ones.
bool HasContent(const std::string& path);

/// The name of a file beside `path` that differs from it in capitals alone; empty where none does.
std::string SameNameOfOtherCase(const std::string& path);

/// The first of `names` that is in `source_dir` (folders or files). Errors: NOT_FOUND
/// FILE_NOT_FOUND with the names and `option`, by which another name can be given.
StatusOr<std::string> FirstOf(const std::string& source_dir,
                              std::initializer_list<const char*> names, const std::string& what,
                              const std::string& option);

/// "the first, the second and 3 more" file names without their folders.
std::string AbbreviatedList(const std::vector<std::string>& paths);

}  // namespace interlacer
