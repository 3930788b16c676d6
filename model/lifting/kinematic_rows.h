#pragma once

/// Converts robot states to kinematic points: joints by forward kinematics, points as they are.
/// Equal motions give equal bytes.
///
///   points_m [rows,p,3] float32, world frame, order of ModelMetadata::kinematic_point_names
/// Errors: INVALID_ARGUMENT ACTION_SHAPE, ACTION_KIND, ACTION_NOT_FINITE, ACTION_OUT_OF_RANGE with
/// the field path "`field`.values[i]". Pure functions, thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

struct KinematicRows {
  std::int64_t row_count = 0;
  std::int64_t point_count = 0;  ///< 0 for a scene without a robot
  std::vector<float> points_m;
};

/// Fills in the action columns and point names of the robot that the model was made for.
void DescribeRobot(const std::string& robot_model_name, int point_count, ModelMetadata* metadata);

StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions,
                                        const ModelMetadata& metadata, const std::string& field);

}  // namespace interlacer
