#pragma once

/// What a robot is made with and what comes out (robots/make_robot.h), for the readers of both
/// formats too. Value types.

#include <cstdint>
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
  bool max_speeds = false;  ///< keep the speeds of a URDF's limits, where they are above 0
  int points_per_link = 300;
  std::uint64_t seed = 0;
  Transform world_from_base{};
};

struct MadeRobot {
  Robot robot;
  std::vector<std::string> notes;
};

}  // namespace interlacer
