#pragma once

/// The contract of one model: cameras, actions, steps, workspace, measured cost. Value types.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

/// How the robot's particles move in a rollout: as the network predicts, or rigidly with their
/// links by forward kinematics of the commanded joints.
enum class RobotMotion { kLearned, kKinematic };

enum class ActionUnit { kRadians, kMeters };

struct ActionColumn {
  std::string name;  ///< with unit suffix, such as "left_joint_1_rad"
  ActionUnit unit = ActionUnit::kRadians;
  double min_value = 0;
  double max_value = 0;
  double max_step_change = 0;  ///< 0 means not limited
};

struct CameraSpec {
  std::string name;
  int width_px = 0;
  int height_px = 0;
};

/// Pixels of the view that ModelMetadata::render_cost_s refers to, 320x240.
inline constexpr double kReferenceViewPx = 320.0 * 240.0;

/// Local part of ModelMetadata::attention_variant: the lists of GRF masking, every pair weighing
/// one.
inline constexpr std::string_view kOnesVariant = "grf_ones";

struct ModelMetadata {
  std::string model_name;
  std::string weights_sha256;
  std::string config_sha256;
  std::string attention_variant;  ///< such as "grf_exact+linear_relu"
  std::int64_t parameter_count = 0;
  std::int64_t particle_count = 0;  ///< drawn per observation
  int history_step_count = 2;
  double step_duration_s = 0.5;
  double max_history_spacing_error_s = 0.1;
  std::vector<CameraSpec> cameras;
  double near_m = 0.1;
  double far_m = 2.0;
  Box workspace;
  std::string world_frame_name;
  bool accepts_joint_positions = false;
  bool accepts_kinematic_points = false;
  std::vector<ActionColumn> action_columns;
  std::vector<std::string> kinematic_point_names;
  std::string robot_model_name;
  int trained_step_count = 0;
  std::int64_t min_particle_count = 1024;
  // Device time: of a server running means of what it measured, 0 of a model without one.
  double step_cost_s = 0;
  double render_cost_s = 0;   ///< one view of the field, kReferenceViewPx
  double carry_cost_s = 0;    ///< observed pixels of frames of the model's size into one view
  double ingest_cost_s = 0;   ///< lift of frames of the model's size
  double longest_unit_s = 0;  ///< the longest unit of work since the warm-up
};

}  // namespace interlacer
