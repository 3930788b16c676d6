#include "server/convert/responses.h"

#include <algorithm>
#include <cmath>

#include "common/duration.h"
#include "common/image.h"
#include "common/image_codec.h"

namespace interlacer {
namespace {

Vec3f PositionOf(const Particles& particles, std::uint32_t index) {
  const float* p = particles.positions_m.data() + std::size_t{3} * index;
  return {p[0], p[1], p[2]};
}

std::uint16_t Quantize(double value, double min, double max) {
  const double q = std::round((value - min) / (max - min) * 65535.0);
  return static_cast<std::uint16_t>(std::clamp(q, 0.0, 65535.0));
}

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string PackPositions(const Particles& particles, const std::vector<std::uint32_t>& selected,
                          PositionEncoding encoding, const Box& box) {
  std::string bytes;
  bytes.reserve(selected.size() * (encoding == PositionEncoding::kFloat32 ? 12 : 6));
  for (const std::uint32_t index : selected) {
    const Vec3f p = PositionOf(particles, index);
    for (int axis = 0; axis < 3; ++axis) {
      if (encoding == PositionEncoding::kFloat32) {
        AppendBytes(p[axis], &bytes);
      } else {
        AppendBytes(Quantize(p[axis], box.min_m[axis], box.max_m[axis]), &bytes);
      }
    }
  }
  return bytes;
}

void ToWire(const Vec3d& v, wire::Vector3* message) {
  message->set_x(v[0]);
  message->set_y(v[1]);
  message->set_z(v[2]);
}

std::string ToString(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

void PackColor(const RenderTarget& target, const FloatImage& color, wire::Image* image) {
  const RgbImage rgb = QuantizeRgb(color);
  image->set_encoding(wire::PIXEL_ENCODING_RGB8);
  switch (target.compression) {
    case ViewCompression::kNone:
      image->set_compression(wire::IMAGE_COMPRESSION_NONE);
      image->set_data(rgb.pixels.data(), rgb.pixels.size());
      break;
    case ViewCompression::kPng:
      image->set_compression(wire::IMAGE_COMPRESSION_PNG);
      image->set_data(ToString(EncodePng(rgb)));
      break;
    case ViewCompression::kJpeg:
      image->set_compression(wire::IMAGE_COMPRESSION_JPEG);
      image->set_data(ToString(EncodeJpeg(rgb, target.jpeg_quality)));
      break;
  }
}

}  // namespace

void PackParticles(const Particles& particles, const std::vector<std::uint32_t>& selected,
                   const OutputOptions& output, const Box& box, wire::ParticleCloud* cloud) {
  cloud->set_particle_count(static_cast<int>(selected.size()));
  if (output.include_positions) {
    const bool is_float = output.position_encoding == PositionEncoding::kFloat32;
    cloud->set_position_encoding(is_float ? wire::POSITION_ENCODING_FLOAT32
                                          : wire::POSITION_ENCODING_WORKSPACE_U16);
    cloud->set_positions(PackPositions(particles, selected, output.position_encoding, box));
  }
  if (output.include_colors) {
    std::string* bytes = cloud->mutable_colors_rgb8();
    bytes->reserve(selected.size() * 3);
    for (const std::uint32_t index : selected) {
      const std::uint8_t* rgb = particles.colors_rgb8.data() + std::size_t{3} * index;
      bytes->append(reinterpret_cast<const char*>(rgb), 3);
    }
  }
  if (output.include_spread) {
    std::string* bytes = cloud->mutable_spread_f32le();
    bytes->reserve(selected.size() * sizeof(float));
    for (const std::uint32_t index : selected) {
      bytes->append(reinterpret_cast<const char*>(&particles.spread_m[index]), sizeof(float));
    }
  }
}

void PackView(const RenderTarget& target, const FloatImage& color, const DepthImage& depth,
              wire::RenderedImage* image) {
  const bool is_color = target.encoding == ViewEncoding::kRgb8;
  image->set_target_name(target.name);
  wire::Image* message = image->mutable_image();
  message->set_width_px(is_color ? color.width_px : depth.width_px);
  message->set_height_px(is_color ? color.height_px : depth.height_px);
  if (is_color) {
    PackColor(target, color, message);
    return;
  }
  message->set_encoding(wire::PIXEL_ENCODING_DEPTH_F32);
  message->set_compression(wire::IMAGE_COMPRESSION_NONE);
  message->set_data(depth.pixels_m.data(), depth.pixels_m.size() * sizeof(float));
}

void ToWire(const RolloutSummary& summary, wire::CallSummary* message) {
  message->set_model_name(summary.model_name);
  message->set_weights_sha256(summary.weights_sha256);
  message->set_computed_step_count(summary.computed_step_count);
  message->set_selected_particle_count(static_cast<int>(summary.selected_particle_count));
  ToWire(summary.durations, message->mutable_durations());
  if (summary.scene_report) ToWire(*summary.scene_report, message->mutable_scene_report());
  for (const Finding& finding : summary.findings) ToWire(finding, message->add_findings());
}

void ToWire(const SceneReport& report, wire::SceneReport* message) {
  for (const CameraReport& camera : report.cameras) {
    wire::CameraReport* entry = message->add_cameras();
    entry->set_camera_name(camera.camera_name);
    entry->set_valid_depth_ratio(camera.valid_depth_ratio);
    entry->set_workspace_ratio(camera.workspace_ratio);
    entry->set_median_depth_m(camera.median_depth_m);
  }
  message->set_candidate_point_count(report.candidate_point_count);
  message->set_cross_camera_distance_m(report.cross_camera_distance_m);
  message->set_camera_skew_s(report.camera_skew_s);
  for (const Finding& finding : report.findings) ToWire(finding, message->add_findings());
}

void ToWire(const Finding& finding, wire::Finding* message) {
  message->set_reason(finding.reason);
  message->set_message(finding.message);
  message->set_field(finding.field);
}

void ToWire(const StageDurations& durations, wire::StageDurations* message) {
  SetDuration(durations.queue_s, message->mutable_queue());
  SetDuration(durations.decode_s, message->mutable_decode());
  SetDuration(durations.lift_s, message->mutable_lift());
  SetDuration(durations.dynamics_s, message->mutable_dynamics());
  SetDuration(durations.render_s, message->mutable_render());
  SetDuration(durations.encode_s, message->mutable_encode());
  SetDuration(durations.blocked_s, message->mutable_blocked());
}

void ToWire(const Box& box, wire::Box* message) {
  ToWire(box.min_m, message->mutable_min_m());
  ToWire(box.max_m, message->mutable_max_m());
}

void SetDuration(double seconds, google::protobuf::Duration* message) {
  const std::int64_t total_ns = ToNanoseconds(seconds);
  message->set_seconds(total_ns / kNanosecondsPerSecond);
  message->set_nanos(static_cast<int>(total_ns % kNanosecondsPerSecond));
}

void SetTimestamp(std::int64_t time_ns, google::protobuf::Timestamp* message) {
  std::int64_t seconds = time_ns / kNanosecondsPerSecond;
  std::int64_t nanos = time_ns % kNanosecondsPerSecond;
  if (nanos < 0) {
    nanos += kNanosecondsPerSecond;
    --seconds;
  }
  message->set_seconds(seconds);
  message->set_nanos(static_cast<int>(nanos));
}

}  // namespace interlacer
