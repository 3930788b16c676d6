#include "data/system_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace interlacer {

bool IsSystemFile(std::string_view file_name) {
  constexpr std::array<std::string_view, 7> kNames = {"thumbs.db",   "ehthumbs.db", "desktop.ini",
                                                      "__macosx",    "@eadir",      "lost+found",
                                                      "$recycle.bin"};
  std::string name(file_name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.starts_with('.') || name.starts_with("~$") || name.ends_with(":zone.identifier") ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsInSystemFiles(const std::filesystem::path& relative_path) {
  return std::any_of(relative_path.begin(), relative_path.end(), [](const auto& part) {
    return part != "." && part != ".." && IsSystemFile(part.string());
  });
}

}  // namespace interlacer
