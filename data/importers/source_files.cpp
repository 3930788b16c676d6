#include "data/importers/source_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "data/system_files.h"

namespace interlacer {

namespace fs = std::filesystem;

std::string SourcePath(const std::string& source_dir, const std::string& name) {
  std::error_code error;
  const fs::path inside = fs::path(source_dir) / name;
  return !fs::exists(inside, error) && fs::exists(name, error) ? name : inside.string();
}

bool HasContent(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0 && !error;
}

std::string SameNameOfOtherCase(const std::string& path) {
  const auto lower = [](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return name;
  };
  const fs::path wanted(path);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(wanted.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name != wanted.filename() && lower(name) == lower(wanted.filename().string())) return name;
  }
  return "";
}

StatusOr<std::string> FirstOf(const std::string& source_dir,
                              std::initializer_list<const char*> names, const std::string& what,
                              const std::string& option) {
  std::error_code error;
  std::string listed;
  for (const char* name : names) {
    const fs::path path = fs::path(source_dir) / name;
    if (fs::exists(path, error)) return path.string();
    listed += (listed.empty() ? "" : ", ") + std::string(name);
  }
  std::vector<std::string> present;
  for (const auto& entry : fs::directory_iterator(source_dir, error)) {
    if (!IsSystemFile(entry.path().filename().string())) present.push_back(entry.path().string());
  }
  std::sort(present.begin(), present.end());
  return NotFound(reason::FILE_NOT_FOUND,
                  source_dir + " has no " + what + ": expected " + listed + " or " + option +
                      ", got " + (present.empty() ? "nothing" : AbbreviatedList(present)))
      .WithField(source_dir);
}

std::string AbbreviatedList(const std::vector<std::string>& paths) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + fs::path(paths[i]).filename().string();
  }
  if (paths.size() > kMost) text += " and " + std::to_string(paths.size() - kMost) + " more";
  return text;
}

}  // namespace interlacer
