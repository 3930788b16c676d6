#include "client/convert/responses.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/convert/geometry.h"
#include "common/image_codec.h"
#include "common/number_text.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

Status Malformed(const std::string& field, const std::string& expected, const std::string& got) {
  return Internal("the server's answer is malformed: " + field + ": expected " + expected +
                  ", got " + got)
      .WithField(field);
}

/// Bytes of `data` as n values of T; the size must fit exactly.
template <typename T>
Status ReadBlock(const std::string& data, std::int64_t n, const std::string& field,
                 std::vector<T>* out) {
  if (n < 0 || data.size() / sizeof(T) != static_cast<std::size_t>(n) ||
      data.size() % sizeof(T) != 0) {
    return Malformed(field,
                     std::to_string(n) + " values of " + std::to_string(sizeof(T)) + " bytes",
                     std::to_string(data.size()) + " bytes");
  }
  *out = ValuesOfBytes<T>(data);
  return Status::Ok();
}

Status PositionsFromProto(const v1::ParticleCloud& cloud, const Box& workspace,
                          std::vector<float>* out) {
  const std::int64_t n = 3ll * cloud.particle_count();
  if (cloud.position_encoding() != v1::POSITION_ENCODING_WORKSPACE_U16) {
    return ReadBlock(cloud.positions(), n, "particles.positions", out);
  }
  std::vector<std::uint16_t> quantised;
  INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.positions(), n, "particles.positions", &quantised));
  out->resize(quantised.size());
  for (std::size_t i = 0; i < quantised.size(); ++i) {
    const double min = workspace.min_m[i % 3];
    const double max = workspace.max_m[i % 3];
    (*out)[i] = static_cast<float>(min + quantised[i] / 65535.0 * (max - min));
  }
  return Status::Ok();
}

StatusOr<RgbImage> ColorFromProto(const v1::Image& image) {
  RgbImage out{image.width_px(), image.height_px(), {}};
  if (image.compression() == v1::IMAGE_COMPRESSION_NONE) {
    const std::int64_t n = 3ll * image.width_px() * image.height_px();
    INTERLACER_RETURN_IF_ERROR(ReadBlock(image.data(), n, "image.data", &out.pixels));
    return out;
  }
  const std::span<const std::uint8_t> data(
      reinterpret_cast<const std::uint8_t*>(image.data().data()), image.data().size());
  INTERLACER_ASSIGN_OR_RETURN(out, DecodeRgb(data));
  if (out.width_px != image.width_px() || out.height_px != image.height_px()) {
    return Malformed("image.data", SizeText(image.width_px(), image.height_px()),
                     SizeText(out.width_px, out.height_px));
  }
  return out;
}

StatusOr<RenderedView> ViewFromProto(const v1::RenderedImage& rendered) {
  const v1::Image& image = rendered.image();
  RenderedView out;
  out.name = rendered.target_name();
  if (image.encoding() == v1::PIXEL_ENCODING_DEPTH_F32) {
    out.depth = {image.width_px(), image.height_px(), {}};
    const std::int64_t n = static_cast<std::int64_t>(image.width_px()) * image.height_px();
    INTERLACER_RETURN_IF_ERROR(ReadBlock(image.data(), n, "image.data", &out.depth.pixels_m));
    return out;
  }
  if (image.encoding() != v1::PIXEL_ENCODING_RGB8) {
    return Malformed("image.encoding", "RGB8 or DEPTH_F32",
                     v1::PixelEncoding_Name(image.encoding()));
  }
  INTERLACER_ASSIGN_OR_RETURN(out.color, ColorFromProto(image));
  return out;
}

Finding FindingFromProto(const v1::Finding& finding) {
  return {finding.reason(), finding.message(), finding.field()};
}

StageDurations DurationsFromProto(const v1::StageDurations& durations) {
  return {SecondsFromProto(durations.queue()),  SecondsFromProto(durations.decode()),
          SecondsFromProto(durations.lift()),   SecondsFromProto(durations.dynamics()),
          SecondsFromProto(durations.render()), SecondsFromProto(durations.encode()),
          SecondsFromProto(durations.blocked())};
}

/// "SERVER_STATE_WARMING_UP" without its prefix, in lower case.
std::string StateWord(const std::string& name, std::size_t prefix_length) {
  std::string word = name.substr(std::min(prefix_length, name.size()));
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return word;
}

}  // namespace

ServerInfo FromProto(const v1::GetServerInfoResponse& response) {
  ServerInfo out;
  out.server_version = response.server_version();
  out.build_id = response.build_id();
  out.instance_id = response.instance_id();
  out.device = response.device();
  out.is_device_fallback = response.is_device_fallback();
  out.state =
      StateWord(v1::ServerState_Name(response.state()), std::string("SERVER_STATE_").size());
  for (const v1::ModelStatus& model : response.models()) {
    out.models.push_back(
        {model.model_name(),
         StateWord(v1::ModelState_Name(model.state()), std::string("MODEL_STATE_").size()),
         model.failure_message()});
  }
  out.features.assign(response.features().begin(), response.features().end());
  const v1::Limits& limits = response.limits();
  out.limits.max_request_bytes = limits.max_request_bytes();
  out.limits.max_response_bytes = limits.max_response_bytes();
  out.limits.max_image_side_px = limits.max_image_side_px();
  out.limits.max_step_count = limits.max_step_count();
  out.limits.max_candidate_count = limits.max_candidate_count();
  out.limits.max_candidate_step_count = limits.max_candidate_step_count();
  out.limits.max_render_target_count = limits.max_render_target_count();
  out.limits.max_render_side_px = limits.max_render_side_px();
  out.limits.max_queue_length = limits.max_queue_length();
  out.limits.max_scene_count = limits.max_scene_count();
  out.limits.max_scene_bytes = limits.max_scene_bytes();
  out.limits.scene_ttl_s = SecondsFromProto(limits.default_scene_time_to_live());
  out.limits.max_scene_ttl_s = SecondsFromProto(limits.max_scene_time_to_live());
  out.limits.max_camera_skew_s = SecondsFromProto(limits.max_camera_skew());
  out.limits.max_call_duration_s = SecondsFromProto(limits.max_call_duration());
  return out;
}

ModelMetadata FromProto(const v1::GetModelMetadataResponse& response) {
  ModelMetadata out;
  out.model_name = response.model_name();
  out.weights_sha256 = response.weights_sha256();
  out.config_sha256 = response.config_sha256();
  out.attention_variant = response.attention_variant();
  out.parameter_count = response.parameter_count();
  out.particle_count = response.particle_count();
  out.history_step_count = response.history_step_count();
  out.step_duration_s = SecondsFromProto(response.step_duration());
  out.max_history_spacing_error_s = SecondsFromProto(response.max_history_spacing_error());
  for (const v1::CameraSpec& camera : response.cameras()) {
    out.cameras.push_back({camera.name(), camera.width_px(), camera.height_px()});
  }
  out.near_m = response.near_m();
  out.far_m = response.far_m();
  out.workspace = FromProto(response.workspace());
  out.world_frame_name = response.world_frame_name();
  for (const int kind : response.action_kinds()) {
    out.accepts_joint_positions |= kind == v1::ACTION_KIND_JOINT_POSITIONS;
    out.accepts_kinematic_points |= kind == v1::ACTION_KIND_KINEMATIC_POINTS;
  }
  for (const v1::ActionColumn& column : response.action_columns()) {
    out.action_columns.push_back(
        {column.name(),
         column.unit() == v1::ACTION_UNIT_METERS ? ActionUnit::kMeters : ActionUnit::kRadians,
         column.min_value(), column.max_value(), column.max_step_change()});
  }
  out.kinematic_point_names.assign(response.kinematic_point_names().begin(),
                                   response.kinematic_point_names().end());
  out.robot_model_name = response.robot_model_name();
  out.trained_step_count = response.trained_step_count();
  out.min_particle_count = response.min_particle_count();
  out.step_cost_s = SecondsFromProto(response.step_cost());
  out.render_cost_s = SecondsFromProto(response.render_cost());
  out.carry_cost_s = SecondsFromProto(response.carry_cost());
  out.ingest_cost_s = SecondsFromProto(response.ingest_cost());
  out.longest_unit_s = SecondsFromProto(response.longest_unit());
  return out;
}

SceneReport FromProto(const v1::SceneReport& report) {
  SceneReport out;
  for (const v1::CameraReport& camera : report.cameras()) {
    out.cameras.push_back({camera.camera_name(), camera.valid_depth_ratio(),
                           camera.workspace_ratio(), camera.median_depth_m()});
  }
  out.candidate_point_count = report.candidate_point_count();
  out.cross_camera_distance_m = report.cross_camera_distance_m();
  out.camera_skew_s = report.camera_skew_s();
  for (const v1::Finding& finding : report.findings())
    out.findings.push_back(FindingFromProto(finding));
  return out;
}

ServerStatistics FromProto(const v1::GetStatisticsResponse& response) {
  ServerStatistics out;
  for (const v1::ModelStatistics& model : response.models()) {
    out.models.push_back(
        {model.model_name(),
         model.success_count(),
         {model.failure_count_by_reason().begin(), model.failure_count_by_reason().end()},
         model.step_count(),
         model.candidate_count(),
         DurationsFromProto(model.total_durations())});
  }
  out.queue_length = response.queue_length();
  out.active_call_count = response.active_call_count();
  out.scene_count = response.scene_count();
  return out;
}

RolloutSummary FromProto(const v1::CallSummary& summary) {
  RolloutSummary out;
  out.model_name = summary.model_name();
  out.weights_sha256 = summary.weights_sha256();
  out.computed_step_count = summary.computed_step_count();
  out.selected_particle_count = summary.selected_particle_count();
  out.durations = DurationsFromProto(summary.durations());
  if (summary.has_scene_report()) out.scene_report = FromProto(summary.scene_report());
  for (const v1::Finding& finding : summary.findings())
    out.findings.push_back(FindingFromProto(finding));
  return out;
}

StatusOr<PredictedStep> FromProto(const v1::PredictedStep& step, const Box& workspace) {
  PredictedStep out;
  out.step = step.step();
  out.predict_time_ns = TimeFromProto(step.predict_time());
  if (step.has_particles()) {
    const v1::ParticleCloud& cloud = step.particles();
    out.particle_count = cloud.particle_count();
    if (!cloud.positions().empty()) {
      INTERLACER_RETURN_IF_ERROR(PositionsFromProto(cloud, workspace, &out.positions_m));
    }
    if (!cloud.colors_rgb8().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.colors_rgb8(), 3 * out.particle_count,
                                           "particles.colors_rgb8", &out.colors_rgb8));
    }
    if (!cloud.spread_f32le().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.spread_f32le(), out.particle_count,
                                           "particles.spread_f32le", &out.spread_m));
    }
    if (!cloud.indices_u32le().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.indices_u32le(), out.particle_count,
                                           "particles.indices_u32le", &out.indices));
    }
  }
  for (const v1::RenderedImage& image : step.images()) {
    INTERLACER_ASSIGN_OR_RETURN(RenderedView view, ViewFromProto(image));
    out.views.push_back(std::move(view));
  }
  return out;
}

}  // namespace interlacer
