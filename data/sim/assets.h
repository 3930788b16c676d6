#pragma once

/// The robot's meshes and the room's textures, read from the unpacked robosuite assets.
///
/// Folder layout: the arm model's meshes and textures/<name>.png. Meshes of many triangles are
/// simplified (vertices merged on a grid) so that a view is drawn in a fraction of the time.
/// Deterministic. Errors: NOT_FOUND FILE_NOT_FOUND with the path, INVALID_ARGUMENT FILE_UNREADABLE
/// for a file that is not a binary STL. Thread-safety: pure functions.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/sim/arm_model.h"

namespace interlacer::sim {

/// A file in memory, by the name that the MJCF text uses.
struct Asset {
  std::string name;
  std::string bytes;
};

/// Links from the base on, then the meshes of the gripper.
StatusOr<std::vector<Asset>> LoadArmMeshes(const std::filesystem::path& asset_folder,
                                           const ArmModel& model);
StatusOr<Asset> LoadTexture(const std::filesystem::path& asset_folder, const std::string& name);

inline constexpr double kMeshCellM = 0.012;
/// Meshes of no more triangles are taken as they are.
inline constexpr std::size_t kMaxKeptTriangles = 2000;

/// The triangles of a binary STL. Errors: INVALID_ARGUMENT FILE_UNREADABLE.
StatusOr<std::vector<std::array<Vec3f, 3>>> ReadStl(const std::string& stl_bytes);

/// Merges the vertices of a binary STL that share a cell of a grid and drops triangles that vanish.
StatusOr<std::string> SimplifyStl(const std::string& stl_bytes, double cell_m);

}  // namespace interlacer::sim
