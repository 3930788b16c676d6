#pragma once

/// Where the mesh of a URDF lies. Thread-safe.

#include <span>
#include <string>

#include "common/status.h"

namespace interlacer {

/// The file of a mesh name: a path below `urdf_folder`, `file://`, or `package://NAME/REST` and
/// `model://NAME/REST`, for which NAME/REST is looked for in `package_paths` and in the folders
/// above the URDF, and REST in those of them that are called NAME. Errors: NOT_FOUND FILE_NOT_FOUND
/// with the option --package-path where a package is not found.
StatusOr<std::string> FindMeshFile(const std::string& mesh_name, const std::string& urdf_folder,
                                   std::span<const std::string> package_paths);

}  // namespace interlacer
