#pragma once

/// Files that operating systems and their tools leave in every folder, which are no part of a
/// recording or an episode: hidden names (.DS_Store, ._000000.png of macOS, .directory), Thumbs.db,
/// desktop.ini, ~$ locks of offices, __MACOSX, @eaDir, lost+found, copies of download marks
/// ("x.png:Zone.Identifier"). Pure functions, thread-safe.

#include <filesystem>
#include <string_view>

namespace interlacer {

bool IsSystemFile(std::string_view file_name);
/// Whether any part of a relative path is one.
bool IsInSystemFiles(const std::filesystem::path& relative_path);

}  // namespace interlacer
