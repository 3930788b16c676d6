#pragma once

/// The robot's meshes and the room's textures, read from the unpacked robosuite assets.
///
/// Folder layout: robots/iiwa/meshes/link_<0-7>.stl and textures/<name>.png. Meshes are simplified
/// (vertices merged on a grid, see kMeshCellM) so that a view is drawn in a fraction of the time.
/// Deterministic. Errors: NOT_FOUND FILE_NOT_FOUND with the path, INVALID_ARGUMENT FILE_UNREADABLE
/// for a file that is not a binary STL. Thread-safety: pure functions.

#include <filesystem>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer::sim {

/// A file in memory, by the name that the MJCF text uses.
struct Asset {
  std::string name;
  std::string bytes;
};

StatusOr<std::vector<Asset>> LoadLinkMeshes(const std::filesystem::path& asset_folder);
StatusOr<Asset> LoadTexture(const std::filesystem::path& asset_folder, const std::string& name);

/// Merges the vertices of a binary STL that share a cell of a grid and drops triangles that vanish.
StatusOr<std::string> SimplifyStl(const std::string& stl_bytes, double cell_m);

}  // namespace interlacer::sim
