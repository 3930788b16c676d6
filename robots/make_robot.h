#pragma once

/// Makes a robot from its URDF or MJCF description.
///
/// URDF (root <robot>): visual meshes and primitives of every link, collision shapes where a link
/// has no visual; `package://` and `model://` are looked for in package_paths and above the file.
/// MJCF (root <mujoco>): visual geoms, those that collide where a body has no other; every body is
/// a link, welded ones too, and the world body is the root, without surface unless `links` names
/// it; joint equalities become mimic joints. Joints outside `columns`, floating and planar ones are
/// held still at their value of rest and become fixed. What had to be decided stands in the notes.
/// Deterministic: equal files, options and seed give equal robots.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID, FILE_UNREADABLE for meshes, ARGUMENT_INVALID for
/// options, naming link and file; UNIMPLEMENTED FEATURE_NOT_BUILT. Files are measured before they
/// are loaded: at most kMaxMeshBytes a mesh and kMaxMeshBytesOfRobot in all. Thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "robots/robot.h"

namespace interlacer {

inline constexpr std::int64_t kMaxMeshBytes = std::int64_t{128} << 20;
inline constexpr std::int64_t kMaxMeshBytesOfRobot = std::int64_t{1} << 30;
inline constexpr int kMaxPointsPerLink = 4096;

struct MakeRobotOptions {
  std::string name{};                        ///< empty: the model's own
  std::vector<std::string> package_paths{};  ///< folders that hold packages, or packages
  std::vector<std::string> links{};          ///< links that get surface points; empty: all
  std::vector<std::string> columns{};        ///< joints in the order of columns{}; empty: all
  std::vector<std::string> gripper{};        ///< these links and what hangs on them are the gripper
  std::vector<std::string> fingers{};        ///< empty: what joints move within the gripper
  int points_per_link = 300;
  std::uint64_t seed = 0;
  Transform world_from_base{};
};

struct MadeRobot {
  Robot robot;
  std::vector<std::string> notes;
};

StatusOr<MadeRobot> MakeRobot(const std::string& model_path, const MakeRobotOptions& options);

/// Several robots as one: a root `world` on which they stand; links and joints get the prefixes.
/// The columns follow each other. Errors: SCHEMA_INVALID where names fall together.
StatusOr<Robot> JoinRobots(const std::string& name, std::span<const Robot> robots,
                           std::span<const std::string> prefixes);

}  // namespace interlacer
