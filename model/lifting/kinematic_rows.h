#pragma once

/// Converts robot states to what the model takes: poses of links, from joints by the robot's
/// description (robots/robot.h), of which the columns follow. Bare points are refused: they have no
/// rotations.
/// Errors: INVALID_ARGUMENT ACTION_SHAPE, ACTION_KIND, ACTION_NOT_FINITE, ACTION_OUT_OF_RANGE (past
/// the tolerance of common/joint_limits.h) with the field path "`field`.values[i]". Pure functions,
/// thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "model/config.h"
#include "robots/robot.h"

namespace interlacer {

struct KinematicRows {
  std::int64_t row_count = 0;
  std::vector<std::vector<Transform>> link_poses;  ///< [rows][links] world_from_link
  std::vector<std::vector<double>> joints;         ///< [rows][columns of the robot]
};

/// Fills in what the model takes of a robot: the columns of `robot`, the checkpoint's.
void DescribeRobot(const Robot& robot, ModelMetadata* metadata);

/// `robot` is the scene's or the checkpoint's description; null where there is none.
StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions, const Robot* robot,
                                        const std::string& field);

/// Whether the robot's surface has tokens enough for the model's graph.
Status CheckRobotTokens(const InterlacerConfig& config, const Robot& robot);

/// The rows of `first`, then those of `then`; of one robot.
KinematicRows JoinRows(KinematicRows first, const KinematicRows& then);

}  // namespace interlacer
