#include "client/convert/responses.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/convert/geometry.h"
#include "common/checked_math.h"
#include "common/number_text.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

/// Bytes of `data` as n values of T; the size must fit exactly.
template <typename T>
Status ReadBlock(const std::string& data, std::int64_t n, const std::string& field,
                 std::vector<T>* out) {
  if (n < 0 || data.size() / sizeof(T) != static_cast<std::size_t>(n) ||
      data.size() % sizeof(T) != 0) {
    return MalformedAnswer(field,
                           std::to_string(n) + " values of " + std::to_string(sizeof(T)) + " bytes",
                           std::to_string(data.size()) + " bytes");
  }
  *out = ValuesOfBytes<T>(data);
  return Status::Ok();
}

Status CheckNumbers(const std::vector<float>& values, bool may_be_negative,
                    const std::string& field) {
  const auto bad = std::find_if_not(values.begin(), values.end(), [=](float value) {
    return std::isfinite(value) && (may_be_negative || value >= 0);
  });
  if (bad == values.end()) return Status::Ok();
  return MalformedAnswer(field, may_be_negative ? "finite numbers" : "finite numbers from 0",
                         NumberText(*bad));
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

StatusOr<std::int64_t> ValueCount(const v1::Image& image, int channels) {
  const auto count = CheckedProduct({image.width_px(), image.height_px(), channels});
  if (count.value_or(0) > 0) return *count;
  return MalformedAnswer("image", "sides above 0 and as many values as 64 bits count",
                         SizeText(image.width_px(), image.height_px()));
}

StatusOr<RgbImage> ColorFromProto(const v1::Image& image, const ImageLimits& limits) {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t count, ValueCount(image, 3));
  if (image.compression() == v1::IMAGE_COMPRESSION_NONE) {
    RgbImage out{image.width_px(), image.height_px(), {}};
    INTERLACER_RETURN_IF_ERROR(ReadBlock(image.data(), count, "image.data", &out.pixels));
    return out;
  }
  const std::span<const std::uint8_t> data(
      reinterpret_cast<const std::uint8_t*>(image.data().data()), image.data().size());
  StatusOr<RgbImage> out = DecodeRgb(data, limits);
  if (!out.ok()) return MalformedAnswer("image.data", "a PNG or JPEG", out.status().message());
  if (out->width_px != image.width_px() || out->height_px != image.height_px()) {
    return MalformedAnswer("image.data", SizeText(image.width_px(), image.height_px()),
                           SizeText(out->width_px, out->height_px));
  }
  return out;
}

StatusOr<RenderedView> ViewFromProto(const v1::RenderedImage& rendered, const ImageLimits& limits) {
  const v1::Image& image = rendered.image();
  RenderedView out;
  out.name = rendered.target_name();
  if (image.encoding() == v1::PIXEL_ENCODING_DEPTH_F32) {
    out.depth = {image.width_px(), image.height_px(), {}};
    INTERLACER_ASSIGN_OR_RETURN(const std::int64_t count, ValueCount(image, 1));
    INTERLACER_RETURN_IF_ERROR(ReadBlock(image.data(), count, "image.data", &out.depth.pixels_m));
    return out;
  }
  if (image.encoding() != v1::PIXEL_ENCODING_RGB8) {
    return MalformedAnswer("image.encoding", "RGB8 or DEPTH_F32",
                           v1::PixelEncoding_Name(image.encoding()));
  }
  INTERLACER_ASSIGN_OR_RETURN(out.color, ColorFromProto(image, limits));
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

Status MalformedAnswer(const std::string& field, const std::string& expected,
                       const std::string& got) {
  return Internal("the server's answer is malformed: " + field + ": expected " + expected +
                  ", got " + got)
      .WithField(field);
}

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

StatusOr<ModelMetadata> FromProto(const v1::GetModelMetadataResponse& response) {
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
  if (response.cameras().empty()) return MalformedAnswer("cameras", "at least one", "none");
  for (const v1::CameraSpec& camera : response.cameras()) {
    const CameraSpec spec{camera.name(), camera.width_px(), camera.height_px()};
    // Pictures are made of this size.
    const int max_side_px = ImageLimits().max_side_px;
    if (std::min(spec.width_px, spec.height_px) < 1 ||
        std::max(spec.width_px, spec.height_px) > max_side_px) {
      return MalformedAnswer("cameras", "sides of 1 to " + std::to_string(max_side_px) + " px",
                             SizeText(spec.width_px, spec.height_px));
    }
    out.cameras.push_back(spec);
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

StatusOr<PredictedStep> FromProto(const v1::PredictedStep& step, const Box& workspace,
                                  const ImageLimits& limits) {
  PredictedStep out;
  out.step = step.step();
  const google::protobuf::Timestamp& time = step.predict_time();
  const std::optional<std::int64_t> time_ns = TimeFromProto(time);
  if (!time_ns) {
    return MalformedAnswer(
        "predict_time", "a time that 64 bits of nanoseconds hold",
        std::to_string(time.seconds()) + " s and " + std::to_string(time.nanos()) + " ns");
  }
  out.predict_time_ns = *time_ns;
  if (step.has_particles()) {
    const v1::ParticleCloud& cloud = step.particles();
    out.particle_count = cloud.particle_count();
    if (out.particle_count < 0) {
      return MalformedAnswer("particles.particle_count", "0 or more",
                             std::to_string(out.particle_count));
    }
    if (!cloud.positions().empty()) {
      INTERLACER_RETURN_IF_ERROR(PositionsFromProto(cloud, workspace, &out.positions_m));
      INTERLACER_RETURN_IF_ERROR(
          CheckNumbers(out.positions_m, /*may_be_negative=*/true, "particles.positions"));
    }
    if (!cloud.colors_rgb8().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.colors_rgb8(), 3 * out.particle_count,
                                           "particles.colors_rgb8", &out.colors_rgb8));
    }
    if (!cloud.spread_f32le().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.spread_f32le(), out.particle_count,
                                           "particles.spread_f32le", &out.spread_m));
      INTERLACER_RETURN_IF_ERROR(
          CheckNumbers(out.spread_m, /*may_be_negative=*/false, "particles.spread_f32le"));
    }
    if (!cloud.indices_u32le().empty()) {
      INTERLACER_RETURN_IF_ERROR(ReadBlock(cloud.indices_u32le(), out.particle_count,
                                           "particles.indices_u32le", &out.indices));
    }
  }
  for (const v1::RenderedImage& image : step.images()) {
    INTERLACER_ASSIGN_OR_RETURN(RenderedView view, ViewFromProto(image, limits));
    out.views.push_back(std::move(view));
  }
  return out;
}

StatusOr<PredictedStep> StepReader::Read(const v1::PredictedStep& message) {
  const bool is_beyond = read_count_ == steps_.size();
  if (is_beyond || message.step() != steps_[read_count_]) {
    return MalformedAnswer("step", is_beyond ? "none" : std::to_string(steps_[read_count_]),
                           std::to_string(message.step()));
  }
  INTERLACER_ASSIGN_OR_RETURN(PredictedStep step, FromProto(message, workspace_, ViewLimits()));
  INTERLACER_RETURN_IF_ERROR(CheckParticles(step));
  INTERLACER_RETURN_IF_ERROR(CheckViews(message));
  ++read_count_;
  return step;
}

ImageLimits StepReader::ViewLimits() const {
  ImageLimits limits;
  for (const RenderTarget& target : output_.render_targets) {
    if (!target.camera) continue;
    limits.max_side_px =
        std::max({limits.max_side_px, target.camera->width_px, target.camera->height_px});
  }
  return limits;
}

Status StepReader::CheckComplete() const {
  if (read_count_ == steps_.size()) return Status::Ok();
  return MalformedAnswer("step", std::to_string(steps_[read_count_]), "none");
}

Status StepReader::CheckParticles(const PredictedStep& step) {
  if (read_count_ == 0) particle_count_ = step.particle_count;
  if (step.particle_count != particle_count_) {
    return MalformedAnswer("particles.particle_count",
                           std::to_string(particle_count_) + ", as in the first step",
                           std::to_string(step.particle_count));
  }
  // Not of spreads: a server that knows none sends none.
  const auto check = [this](const std::string& field, bool is_asked, std::size_t got) {
    const auto expected = static_cast<std::size_t>(is_asked ? 3 * particle_count_ : 0);
    return got == expected
               ? Status::Ok()
               : MalformedAnswer(field, std::to_string(expected) + " values", std::to_string(got));
  };
  INTERLACER_RETURN_IF_ERROR(
      check("particles.positions", output_.include_positions, step.positions_m.size()));
  return check("particles.colors_rgb8", output_.include_colors, step.colors_rgb8.size());
}

Status StepReader::CheckViews(const v1::PredictedStep& message) {
  const std::vector<RenderTarget>& targets = output_.render_targets;
  if (static_cast<std::size_t>(message.images_size()) != targets.size()) {
    return MalformedAnswer("images", std::to_string(targets.size()),
                           std::to_string(message.images_size()));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const RenderTarget& target = targets[i];
    const v1::RenderedImage& rendered = message.images(static_cast<int>(i));
    const std::string field = Indexed("images", static_cast<int>(i));
    if (rendered.target_name() != target.name) {
      return MalformedAnswer(field + ".target_name", target.name, rendered.target_name());
    }
    const v1::PixelEncoding encoding = target.encoding == ViewEncoding::kDepthF32
                                           ? v1::PIXEL_ENCODING_DEPTH_F32
                                           : v1::PIXEL_ENCODING_RGB8;
    if (rendered.image().encoding() != encoding) {
      return MalformedAnswer(field + ".image.encoding", v1::PixelEncoding_Name(encoding),
                             v1::PixelEncoding_Name(rendered.image().encoding()));
    }
    const std::pair size_px(rendered.image().width_px(), rendered.image().height_px());
    if (read_count_ == 0) {
      view_sizes_px_.push_back(
          target.camera ? std::pair(target.camera->width_px, target.camera->height_px) : size_px);
    }
    const auto& [width_px, height_px] = view_sizes_px_[i];
    if (size_px != view_sizes_px_[i]) {
      return MalformedAnswer(field + ".image", SizeText(width_px, height_px),
                             SizeText(size_px.first, size_px.second));
    }
  }
  return Status::Ok();
}

}  // namespace interlacer
