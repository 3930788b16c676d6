#include "client/convert/requests.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/convert/geometry.h"
#include "common/image_codec.h"
#include "common/number_text.h"

namespace interlacer {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are copied as they are");

template <typename T>
void CopyBlock(const std::vector<T>& values, std::string* out) {
  out->assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Status CheckPixelCount(int width_px, int height_px, int channels, std::size_t got) {
  const std::int64_t expected =
      static_cast<std::int64_t>(width_px) * height_px * static_cast<std::int64_t>(channels);
  if (width_px < 1 || height_px < 1 || expected != static_cast<std::int64_t>(got)) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data",
                    std::to_string(width_px) + "x" + std::to_string(height_px) + "x" +
                        std::to_string(channels) + " values",
                    std::to_string(got));
  }
  return Status::Ok();
}

/// Whole units of the packing; NaN and other depths without a measurement become 0.
StatusOr<DepthImage16> QuantizeDepth(const DepthImage& image, double unit_m) {
  DepthImage16 out{image.width_px, image.height_px, unit_m, {}};
  out.pixels.reserve(image.pixels_m.size());
  for (const float depth_m : image.pixels_m) {
    const double units = std::isfinite(depth_m) && depth_m > 0 ? std::round(depth_m / unit_m) : 0.0;
    if (units > std::numeric_limits<std::uint16_t>::max()) {
      return OutOfRange(reason::ARGUMENT_INVALID,
                        "a depth of " + std::to_string(depth_m) + " m does not fit 16 bits of " +
                            std::to_string(unit_m) + " m: send float32 or take a larger unit")
          .WithField("data");
    }
    out.pixels.push_back(static_cast<std::uint16_t>(units));
  }
  return out;
}

Status ViewToProto(const RgbdView& view, const ImagePacking& packing, v1::RgbdView* out) {
  out->set_camera_name(view.camera_name);
  TimeToProto(view.capture_time_ns, out->mutable_capture_time());
  if (Status s = ColorToProto(view.color, packing, out->mutable_color()); !s.ok()) {
    return std::move(s).WithFieldPrefix("color");
  }
  if (Status s = DepthToProto(view.depth, packing, out->mutable_depth()); !s.ok()) {
    return std::move(s).WithFieldPrefix("depth");
  }
  ToProto(view.camera, out->mutable_calibration());
  return Status::Ok();
}

void TargetToProto(const RenderTarget& target, v1::RenderTarget* out) {
  out->set_target_name(target.name);
  if (target.camera) {
    ToProto(*target.camera, out->mutable_camera());
  } else {
    out->set_scene_camera_name(target.scene_camera_name);
  }
  out->set_encoding(target.encoding == ViewEncoding::kDepthF32 ? v1::PIXEL_ENCODING_DEPTH_F32
                                                               : v1::PIXEL_ENCODING_RGB8);
  switch (target.compression) {
    case ViewCompression::kNone:
      out->set_compression(v1::IMAGE_COMPRESSION_NONE);
      break;
    case ViewCompression::kPng:
      out->set_compression(v1::IMAGE_COMPRESSION_PNG);
      break;
    case ViewCompression::kJpeg:
      out->set_compression(v1::IMAGE_COMPRESSION_JPEG);
      out->set_jpeg_quality(target.jpeg_quality);
      break;
  }
}

}  // namespace

Status ColorToProto(const RgbImage& image, const ImagePacking& packing, v1::Image* out) {
  INTERLACER_RETURN_IF_ERROR(
      CheckPixelCount(image.width_px, image.height_px, 3, image.pixels.size()));
  out->set_width_px(image.width_px);
  out->set_height_px(image.height_px);
  out->set_encoding(v1::PIXEL_ENCODING_RGB8);
  switch (packing.color) {
    case ColorPacking::kRaw:
      out->set_compression(v1::IMAGE_COMPRESSION_NONE);
      CopyBlock(image.pixels, out->mutable_data());
      break;
    case ColorPacking::kPng:
      out->set_compression(v1::IMAGE_COMPRESSION_PNG);
      CopyBlock(EncodePng(image), out->mutable_data());
      break;
    case ColorPacking::kJpeg:
      if (packing.jpeg_quality < 1 || packing.jpeg_quality > 100) {
        return Mismatch(reason::ARGUMENT_INVALID, "jpeg_quality", "1 to 100",
                        std::to_string(packing.jpeg_quality));
      }
      if (std::max(image.width_px, image.height_px) > kMaxJpegSidePx) {
        const std::string limit = std::to_string(kMaxJpegSidePx);
        const std::string got = SizeText(image.width_px, image.height_px);
        return OutOfRange(reason::LIMIT_IMAGE_SIDE,
                          "data: expected sides of at most " + limit + " px for a JPEG, got " + got)
            .WithField("data")
            .WithMetadata("limit", limit)
            .WithMetadata("got", got);
      }
      out->set_compression(v1::IMAGE_COMPRESSION_JPEG);
      CopyBlock(EncodeJpeg(image, packing.jpeg_quality), out->mutable_data());
      break;
  }
  return Status::Ok();
}

Status DepthToProto(const DepthImage& image, const ImagePacking& packing, v1::Image* out) {
  INTERLACER_RETURN_IF_ERROR(
      CheckPixelCount(image.width_px, image.height_px, 1, image.pixels_m.size()));
  out->set_width_px(image.width_px);
  out->set_height_px(image.height_px);
  if (packing.png_depth_unit_m == 0) {
    out->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32);
    out->set_compression(v1::IMAGE_COMPRESSION_NONE);
    CopyBlock(image.pixels_m, out->mutable_data());
    return Status::Ok();
  }
  if (!(packing.png_depth_unit_m > 0) || !std::isfinite(packing.png_depth_unit_m)) {
    return Mismatch(reason::ARGUMENT_INVALID, "png_depth_unit_m", "0 or a positive unit in metres",
                    std::to_string(packing.png_depth_unit_m));
  }
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 depth,
                              QuantizeDepth(image, packing.png_depth_unit_m));
  out->set_encoding(v1::PIXEL_ENCODING_DEPTH_U16);
  out->set_compression(v1::IMAGE_COMPRESSION_PNG);
  out->set_depth_unit_m(packing.png_depth_unit_m);
  CopyBlock(EncodePng(depth), out->mutable_data());
  return Status::Ok();
}

Status ToProto(const ActionSequence& actions, v1::ActionSequence* out) {
  if (actions.kind == ActionKind::kNone) return Status::Ok();
  if (actions.row_count < 0 || actions.column_count < 1 ||
      actions.row_count > std::numeric_limits<std::int32_t>::max() ||
      actions.row_count * actions.column_count !=
          static_cast<std::int64_t>(actions.values.size())) {
    return Mismatch(reason::ACTION_SHAPE, "values",
                    std::to_string(actions.row_count) + " rows x " +
                        std::to_string(actions.column_count) + " columns",
                    std::to_string(actions.values.size()) + " values");
  }
  v1::FloatMatrix* matrix = actions.kind == ActionKind::kJointPositions
                                ? out->mutable_joint_positions()
                                : out->mutable_kinematic_points_m();
  matrix->set_row_count(static_cast<std::int32_t>(actions.row_count));
  matrix->set_column_count(static_cast<std::int32_t>(actions.column_count));
  CopyBlock(actions.values, matrix->mutable_values_f32le());
  return Status::Ok();
}

Status ToProto(const SceneInput& input, const ImagePacking& packing, v1::SceneInput* out) {
  for (std::size_t i = 0; i < input.observations.size(); ++i) {
    v1::Observation* observation = out->add_observations();
    const std::vector<RgbdView>& views = input.observations[i].views;
    for (std::size_t j = 0; j < views.size(); ++j) {
      if (Status s = ViewToProto(views[j], packing, observation->add_views()); !s.ok()) {
        return std::move(s).WithFieldPrefix("observations[" + std::to_string(i) + "].views[" +
                                            std::to_string(j) + "]");
      }
    }
  }
  if (Status s = ToProto(input.history_actions, out->mutable_history_actions()); !s.ok()) {
    return std::move(s).WithFieldPrefix("history_actions");
  }
  if (input.history_actions.kind == ActionKind::kNone) out->clear_history_actions();
  out->set_seed(input.seed);
  if (input.workspace) ToProto(*input.workspace, out->mutable_workspace());
  if (input.near_m) out->set_near_m(*input.near_m);
  if (input.far_m) out->set_far_m(*input.far_m);
  return Status::Ok();
}

void ToProto(const OutputOptions& options, v1::OutputOptions* out) {
  out->mutable_steps()->Assign(options.steps.begin(), options.steps.end());
  out->set_include_positions(options.include_positions);
  out->set_position_encoding(options.position_encoding == PositionEncoding::kWorkspaceU16
                                 ? v1::POSITION_ENCODING_WORKSPACE_U16
                                 : v1::POSITION_ENCODING_FLOAT32);
  out->set_include_colors(options.include_colors);
  out->set_include_spread(options.include_spread);
  if (options.initial_region) {
    ToProto(*options.initial_region, out->mutable_particle_selection()->mutable_initial_region());
  }
  if (options.stride > 1) out->mutable_particle_selection()->set_stride(options.stride);
  for (const RenderTarget& target : options.render_targets) {
    TargetToProto(target, out->add_render_targets());
  }
  out->set_render_mode(options.render_mode == RenderMode::kField ? v1::RENDER_MODE_FIELD
                                                                 : v1::RENDER_MODE_OBSERVED);
  out->set_motion(options.motion == MotionSource::kRobotOnly ? v1::MOTION_SOURCE_ROBOT_ONLY
                                                             : v1::MOTION_SOURCE_MODEL);
}

}  // namespace interlacer
