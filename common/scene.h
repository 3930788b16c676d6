#pragma once

/// The input of a prediction: calibrated RGB-D observations and the robot's motion.
///
/// Plain structs with the content of the wire's SceneInput, used by the model, the server, the
/// client and the command line alike. Metres, radians, seconds; frames as in common/camera.h. Value
/// types.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/image.h"

namespace interlacer {

/// One camera at one model timestep; depth is registered to colour (same size, same camera).
struct RgbdView {
  std::string camera_name;
  Camera camera;
  RgbImage color;
  DepthImage depth;
  std::int64_t capture_time_ns = 0;  ///< of the later exposure of the two
};

/// All cameras at one model timestep, in the order of the model's cameras.
struct Observation {
  std::vector<RgbdView> views;
};

enum class ActionKind { kNone, kJointPositions, kKinematicPoints };

/// Robot states, one row a model timestep, row-major [row_count, column_count] float32.
///   kJointPositions   columns of ModelMetadata::action_columns (radians, metres)
///   kKinematicPoints  x y z of every kinematic point, world frame, metres
///   kNone             a scene without a robot; no rows, no columns
struct ActionSequence {
  ActionKind kind = ActionKind::kNone;
  std::int64_t row_count = 0;
  std::int64_t column_count = 0;
  std::vector<float> values;
};

struct Robot;  // robots/robot.h

struct SceneInput {
  /// Oldest first, step_duration apart: times t-2 and t-1.
  std::vector<Observation> observations;
  /// Measured robot state, one row an observation (kNone: no robot).
  ActionSequence history_actions;
  /// Seed of the draw of particles.
  std::int64_t seed = 0;
  /// Absent means the model's workspace. Crops points and scales the network's positions.
  std::optional<Box> workspace;
  std::optional<double> near_m;
  std::optional<double> far_m;
  /// The robot whose joints the rows hold; null means the model's.
  std::shared_ptr<const Robot> robot;
};

/// Something that is not an error but that a user should look at.
struct Finding {
  std::string reason;   ///< such as "CALIBRATION_SUSPECT"
  std::string message;  ///< one sentence with the numbers
  std::string field;
};

struct CameraReport {
  std::string camera_name;
  double valid_depth_ratio = 0;  ///< share of pixels with a valid depth
  double workspace_ratio = 0;    ///< share of pixels that lift into the workspace box
  double median_depth_m = 0;
};

/// Facts about a lifted scene, newest observation.
struct SceneReport {
  std::vector<CameraReport> cameras;
  std::int64_t candidate_point_count = 0;
  /// Median distance from the second camera's points to the first's where both see; negative when
  /// fewer than 500 points are shared.
  double cross_camera_distance_m = -1;
  double camera_skew_s = 0;
  std::vector<Finding> findings;
};

}  // namespace interlacer
