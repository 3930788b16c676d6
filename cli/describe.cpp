#include "cli/describe.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "common/json.h"
#include "data/manifest.h"

namespace interlacer::cli {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? "none" : out;
}

std::string BoxText(const Box& box) {
  return Format("x %.2f ... %.2f, y %.2f ... %.2f, z %.2f ... %.2f m", box.min_m[0], box.max_m[0],
                box.min_m[1], box.max_m[1], box.min_m[2], box.max_m[2]);
}

std::string ActionsText(const ModelMetadata& metadata) {
  std::vector<std::string> kinds;
  if (metadata.accepts_joint_positions) {
    kinds.push_back(Format("joint positions (%zu columns)", metadata.action_columns.size()));
  }
  if (metadata.accepts_kinematic_points) {
    kinds.push_back(Format("kinematic points (%zu)", metadata.kinematic_point_names.size()));
  }
  return Join(kinds);
}

}  // namespace

std::string Format(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<std::size_t>(std::max(length, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

nlohmann::ordered_json ToJson(const Box& box) { return {{"min", box.min_m}, {"max", box.max_m}}; }

nlohmann::ordered_json ToJson(const ModelMetadata& m) {
  nlohmann::ordered_json cameras = nlohmann::ordered_json::array();
  for (const CameraSpec& camera : m.cameras) {
    cameras.push_back(
        {{"name", camera.name}, {"width_px", camera.width_px}, {"height_px", camera.height_px}});
  }
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const ActionColumn& column : m.action_columns) {
    columns.push_back({{"name", column.name},
                       {"unit", column.unit == ActionUnit::kMeters ? "m" : "rad"},
                       {"min", column.min_value},
                       {"max", column.max_value},
                       {"max_step_change", column.max_step_change}});
  }
  return {{"name", m.model_name},
          {"variant", m.attention_variant},
          {"weights_sha256", m.weights_sha256},
          {"config_sha256", m.config_sha256},
          {"parameter_count", m.parameter_count},
          {"particle_count", m.particle_count},
          {"history_step_count", m.history_step_count},
          {"step_duration_s", m.step_duration_s},
          {"cameras", cameras},
          {"near_m", m.near_m},
          {"far_m", m.far_m},
          {"workspace_m", ToJson(m.workspace)},
          {"world_frame", m.world_frame_name},
          {"accepts_joint_positions", m.accepts_joint_positions},
          {"accepts_kinematic_points", m.accepts_kinematic_points},
          {"action_columns", columns},
          {"kinematic_point_names", m.kinematic_point_names},
          {"robot_model", m.robot_model_name},
          {"trained_step_count", m.trained_step_count},
          {"min_particle_count", m.min_particle_count},
          {"step_cost_s", m.step_cost_s},
          {"render_cost_s", m.render_cost_s},
          {"carry_cost_s", m.carry_cost_s},
          {"ingest_cost_s", m.ingest_cost_s},
          {"longest_unit_s", m.longest_unit_s}};
}

nlohmann::ordered_json ToJson(const ServerInfo& info) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const ModelStatus& model : info.models) {
    models.push_back({{"name", model.model_name},
                      {"state", model.state},
                      {"failure_message", model.failure_message}});
  }
  const ServerLimits& l = info.limits;
  return {{"server_version", info.server_version},
          {"build_id", info.build_id},
          {"instance_id", info.instance_id},
          {"device", info.device},
          {"is_device_fallback", info.is_device_fallback},
          {"state", info.state},
          {"models", models},
          {"features", info.features},
          {"limits",
           {{"max_request_bytes", l.max_request_bytes},
            {"max_response_bytes", l.max_response_bytes},
            {"max_image_side_px", l.max_image_side_px},
            {"max_step_count", l.max_step_count},
            {"max_candidate_count", l.max_candidate_count},
            {"max_candidate_step_count", l.max_candidate_step_count},
            {"max_render_target_count", l.max_render_target_count},
            {"max_render_side_px", l.max_render_side_px},
            {"max_queue_length", l.max_queue_length},
            {"max_scene_count", l.max_scene_count},
            {"max_scene_bytes", l.max_scene_bytes},
            {"scene_ttl_s", l.scene_ttl_s},
            {"max_scene_ttl_s", l.max_scene_ttl_s},
            {"max_camera_skew_s", l.max_camera_skew_s},
            {"max_call_duration_s", l.max_call_duration_s}}}};
}

nlohmann::ordered_json ToJson(const Finding& finding) {
  return {{"reason", finding.reason}, {"message", finding.message}, {"field", finding.field}};
}

nlohmann::ordered_json ToJson(const SceneReport& report) {
  nlohmann::ordered_json cameras = nlohmann::ordered_json::array();
  for (const CameraReport& camera : report.cameras) {
    cameras.push_back({{"name", camera.camera_name},
                       {"valid_depth_ratio", camera.valid_depth_ratio},
                       {"workspace_ratio", camera.workspace_ratio},
                       {"median_depth_m", camera.median_depth_m}});
  }
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : report.findings) findings.push_back(ToJson(finding));
  return {{"cameras", cameras},
          {"candidate_point_count", report.candidate_point_count},
          {"cross_camera_distance_m", report.cross_camera_distance_m},
          {"camera_skew_s", report.camera_skew_s},
          {"findings", findings}};
}

nlohmann::ordered_json ToJson(const StageDurations& d) {
  return {{"queue_s", d.queue_s},       {"decode_s", d.decode_s}, {"lift_s", d.lift_s},
          {"dynamics_s", d.dynamics_s}, {"render_s", d.render_s}, {"encode_s", d.encode_s},
          {"blocked_s", d.blocked_s}};
}

nlohmann::ordered_json ToJson(const EpisodeManifest& manifest) { return ManifestToJson(manifest); }

TextRows ToRows(const ModelMetadata& m) {
  const bool has_cost = m.ingest_cost_s > 0 || m.step_cost_s > 0 || m.render_cost_s > 0;
  std::vector<std::string> cameras;
  for (const CameraSpec& camera : m.cameras) {
    cameras.push_back(camera.name + Format(" %dx%d", camera.width_px, camera.height_px));
  }
  return {
      {"model", m.model_name},
      {"variant", m.attention_variant},
      {"parameters", std::to_string(m.parameter_count)},
      {"particles", std::to_string(m.particle_count) + " an observation"},
      {"history", Format("%d observations, %.3g s apart", m.history_step_count, m.step_duration_s)},
      {"trained steps", std::to_string(m.trained_step_count)},
      {"cameras", Join(cameras)},
      {"depth range", Format("%.2f ... %.2f m", m.near_m, m.far_m)},
      {"workspace", BoxText(m.workspace)},
      {"world frame", m.world_frame_name},
      {"actions", ActionsText(m)},
      {"robot", m.robot_model_name},
      {"cost", has_cost ? Format("lift %.3f s, step %.3f s, carry %.3f s, 320x240 field view "
                                 "%.3f s, longest unit %.3f s",
                                 m.ingest_cost_s, m.step_cost_s, m.carry_cost_s, m.render_cost_s,
                                 m.longest_unit_s)
                        : std::string("not measured (a server measures it)")},
      {"weights", m.weights_sha256}};
}

TextRows ToRows(const ServerInfo& info) {
  TextRows rows{
      {"server", info.server_version + " (" + info.build_id + ")"},
      {"state", info.state},
      {"device", info.device + (info.is_device_fallback ? " (fallback)" : "")},
      {"parts", Join(info.features)},
      {"request limit",
       Format("%lld MiB", static_cast<long long>(info.limits.max_request_bytes >> 20))},
      {"call limit", Format("%.0f s, %d steps, %d views of %d px", info.limits.max_call_duration_s,
                            info.limits.max_step_count, info.limits.max_render_target_count,
                            info.limits.max_render_side_px)},
      {"candidate limit", Format("%d, %d steps in all", info.limits.max_candidate_count,
                                 info.limits.max_candidate_step_count)},
      {"scene limit",
       Format("%d, %lld MiB, %.0f s unused, %.0f s if asked for", info.limits.max_scene_count,
              static_cast<long long>(info.limits.max_scene_bytes >> 20), info.limits.scene_ttl_s,
              info.limits.max_scene_ttl_s)}};
  for (const ModelStatus& model : info.models) {
    rows.emplace_back(
        "model " + model.model_name,
        model.state + (model.failure_message.empty() ? "" : ": " + model.failure_message));
  }
  return rows;
}

TextRows ToRows(const EpisodeManifest& manifest) {
  std::vector<std::string> cameras;
  for (const EpisodeCamera& camera : manifest.cameras) {
    cameras.push_back(camera.name +
                      Format(" %dx%d", camera.camera.width_px, camera.camera.height_px));
  }
  return {
      {"episode", manifest.episode_id},
      {"kind", std::string(EpisodeKindName(manifest.kind))},
      {"task", manifest.task_name + (manifest.task_text.empty() ? "" : ": ") + manifest.task_text},
      {"steps", Format("%d, %.3g s apart", manifest.step_count, manifest.step_duration_s)},
      {"cameras", Join(cameras)},
      {"workspace", BoxText(manifest.workspace)},
      {"world frame", manifest.world_frame_name},
      {"robot", manifest.robot ? manifest.robot->model : "none"},
      {"actions", manifest.actions ? std::string(ActionKindName(manifest.actions->kind)) +
                                         Format(", %zu columns", manifest.actions->columns.size())
                                   : "none"},
      {"source", manifest.source.kind + " by " + manifest.source.tool},
      {"licence", manifest.source.license}};
}

std::string AlignedText(const TextRows& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string out;
  for (const auto& [name, value] : rows) {
    out += name + std::string(width - name.size() + 2, ' ') + value + "\n";
  }
  return out;
}

}  // namespace interlacer::cli
