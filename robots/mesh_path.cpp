#include "robots/mesh_path.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// What follows one of the prefixes.
std::optional<std::string> AfterPrefix(const std::string& text,
                                       std::initializer_list<std::string> prefixes) {
  for (const std::string& prefix : prefixes) {
    if (text.starts_with(prefix)) return text.substr(prefix.size());
  }
  return std::nullopt;
}

StatusOr<std::string> Existing(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path.string();
  return NotFound(reason::FILE_NOT_FOUND, "no such file: " + path.string());
}

}  // namespace

StatusOr<std::string> FindMeshFile(const std::string& mesh_name, const std::string& urdf_folder,
                                   std::span<const std::string> package_paths) {
  if (const auto file = AfterPrefix(mesh_name, {"file://"})) return Existing(*file);
  const auto in_package = AfterPrefix(mesh_name, {"package://", "model://"});
  if (!in_package) return Existing(fs::path(urdf_folder) / mesh_name);

  std::vector<fs::path> folders(package_paths.begin(), package_paths.end());
  std::error_code error;
  // The name of a file in the current folder says no folder.
  const fs::path start =
      fs::absolute(fs::path(urdf_folder) / "urdf", error).parent_path().lexically_normal();
  fs::path above = start;
  while (above.has_relative_path()) {
    if (above.has_filename()) folders.push_back(above);
    above = above.parent_path();
  }
  const std::size_t slash = in_package->find('/');
  const std::string package = in_package->substr(0, slash);
  const std::string rest = slash == std::string::npos ? "" : in_package->substr(slash + 1);
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / *in_package, error)) return (folder / *in_package).string();
    const fs::path named = folder.has_filename() ? folder : folder.parent_path();
    if (named.filename() == package && fs::exists(named / rest, error)) {
      return (named / rest).string();
    }
  }
  return NotFound(reason::FILE_NOT_FOUND,
                  "'" + *in_package + "' is neither in a package path nor above " + start.string() +
                      "; name the folder of package '" + package + "' with --package-path");
}

}  // namespace interlacer
