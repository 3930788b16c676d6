#pragma once

/// Converts robot states to what the model takes: poses of links, and positions of bodies.
///
/// Joints are converted by the robot's description (robots/robot.h), of which the columns follow.
/// Models older than it know one robot by the positions of its bodies: `points_m`, from joints of
/// that robot's columns by data/sim/forward_kinematics.h, or as they came. Equal motions give equal
/// bytes.
///   points_m [rows,p,3] float32, world frame, order of ModelMetadata::kinematic_point_names
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
  std::int64_t point_count = 0;  ///< 0 for a scene without a robot, or with one of other columns
  std::vector<float> points_m;
  /// [rows][links] world_from_link; empty for points, and for joints without a description.
  std::vector<std::vector<Transform>> link_poses;
};

/// Fills in what the model takes of a robot: the columns of `robot`, the checkpoint's, or without
/// one those of the robot that the configuration names. `config` has the robot motion in effect.
void DescribeRobot(const InterlacerConfig& config, const Robot* robot, ModelMetadata* metadata);

/// `robot` is the scene's or the checkpoint's description; null where there is none.
StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions,
                                        const ModelMetadata& metadata, const Robot* robot,
                                        const std::string& field);

/// Whether the model has tokens for the robot of these rows, which are not bare points.
Status CheckRobotTokens(const InterlacerConfig& config, const Robot* robot,
                        const KinematicRows& rows);

/// The rows of `first`, then those of `then`; of one robot.
KinematicRows JoinRows(KinematicRows first, const KinematicRows& then);

}  // namespace interlacer
