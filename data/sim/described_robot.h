#pragma once

/// The robot folder of the simulated robot.
///
/// Links, joints and limits of an arm model, and points on what the pictures show: the meshes of
/// base and links, and the visible pieces of gripper and fingers. Columns are those of
/// StateColumnsOf, by the names of robots/joint_values.h; finger 2 follows finger 1. Source and
/// licence stand in Robot::source. Deterministic. Errors: those of robots/make_robot.h.
/// Thread-safety: pure function.

#include <vector>

#include "common/status.h"
#include "data/sim/arm_model.h"
#include "data/sim/assets.h"
#include "robots/robot.h"

namespace interlacer::sim {

inline constexpr int kSurfacePointsPerLink = 300;

/// `meshes` as LoadArmMeshes gives them.
StatusOr<Robot> DescribeRobot(const RobotSetup& setup, const std::vector<Asset>& meshes);

}  // namespace interlacer::sim
