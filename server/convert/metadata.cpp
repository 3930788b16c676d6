#include "server/convert/metadata.h"

#include <string>

#include "server/convert/responses.h"

namespace interlacer {

void ToWire(const ModelMetadata& metadata, wire::GetModelMetadataResponse* message) {
  message->set_model_name(metadata.model_name);
  message->set_weights_sha256(metadata.weights_sha256);
  message->set_config_sha256(metadata.config_sha256);
  message->set_attention_variant(metadata.attention_variant);
  message->set_parameter_count(metadata.parameter_count);
  message->set_particle_count(static_cast<int>(metadata.particle_count));
  message->set_history_step_count(metadata.history_step_count);
  SetDuration(metadata.step_duration_s, message->mutable_step_duration());
  SetDuration(metadata.max_history_spacing_error_s, message->mutable_max_history_spacing_error());
  for (const CameraSpec& camera : metadata.cameras) {
    wire::CameraSpec* entry = message->add_cameras();
    entry->set_name(camera.name);
    entry->set_width_px(camera.width_px);
    entry->set_height_px(camera.height_px);
  }
  message->set_near_m(metadata.near_m);
  message->set_far_m(metadata.far_m);
  ToWire(metadata.workspace, message->mutable_workspace());
  message->set_world_frame_name(metadata.world_frame_name);
  if (metadata.accepts_joint_positions) {
    message->add_action_kinds(wire::ACTION_KIND_JOINT_POSITIONS);
  }
  if (metadata.accepts_kinematic_points) {
    message->add_action_kinds(wire::ACTION_KIND_KINEMATIC_POINTS);
  }
  for (const ActionColumn& column : metadata.action_columns) {
    wire::ActionColumn* entry = message->add_action_columns();
    entry->set_name(column.name);
    entry->set_unit(column.unit == ActionUnit::kRadians ? wire::ACTION_UNIT_RADIANS
                                                        : wire::ACTION_UNIT_METERS);
    entry->set_min_value(column.min_value);
    entry->set_max_value(column.max_value);
    entry->set_max_step_change(column.max_step_change);
  }
  for (const std::string& name : metadata.kinematic_point_names) {
    message->add_kinematic_point_names(name);
  }
  message->set_robot_model_name(metadata.robot_model_name);
  message->set_trained_step_count(metadata.trained_step_count);
  SetDuration(metadata.step_cost_s, message->mutable_step_cost());
  SetDuration(metadata.render_cost_s, message->mutable_render_cost());
  SetDuration(metadata.carry_cost_s, message->mutable_carry_cost());
  SetDuration(metadata.ingest_cost_s, message->mutable_ingest_cost());
  SetDuration(metadata.longest_unit_s, message->mutable_longest_unit());
  message->set_min_particle_count(static_cast<int>(metadata.min_particle_count));
}

void ToWire(const Limits& limits, wire::Limits* message) {
  message->set_max_request_bytes(limits.max_request_bytes);
  message->set_max_response_bytes(limits.max_response_bytes);
  message->set_max_image_side_px(limits.max_image_side_px);
  message->set_max_step_count(limits.max_step_count);
  message->set_max_candidate_count(limits.max_candidate_count);
  message->set_max_candidate_step_count(limits.max_candidate_step_count);
  message->set_max_render_target_count(limits.max_render_target_count);
  message->set_max_render_side_px(limits.max_render_side_px);
  message->set_max_queue_length(limits.max_queue_length);
  message->set_max_scene_count(limits.max_scene_count);
  message->set_max_scene_bytes(limits.max_scene_bytes);
  SetDuration(limits.scene_ttl_s, message->mutable_default_scene_time_to_live());
  SetDuration(limits.max_scene_ttl_s, message->mutable_max_scene_time_to_live());
  SetDuration(limits.max_camera_skew_s, message->mutable_max_camera_skew());
  SetDuration(limits.max_call_duration_s, message->mutable_max_call_duration());
  SetDuration(limits.slow_reader_timeout_s, message->mutable_slow_reader_timeout());
}

}  // namespace interlacer
