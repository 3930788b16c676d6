#include "server/convert/output_options.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/image_codec.h"
#include "common/number_text.h"
#include "common/output_selection.h"
#include "server/convert/calibration.h"

namespace interlacer {
namespace {

constexpr std::size_t kMaxTargetNameLength = 64;
/// Allowance for names, times and the summary in the estimated size of a message.
constexpr std::int64_t kMessageOverheadBytes = 4096;
constexpr int kDefaultJpegQuality = 90;

Status LimitExceeded(const char* reason_word, std::string field, const std::string& what,
                     std::int64_t got, std::int64_t limit) {
  return OutOfRange(reason_word, what + ": " + std::to_string(got) + " is above the limit of " +
                                     std::to_string(limit))
      .WithField(std::move(field))
      .WithMetadata("got", std::to_string(got))
      .WithMetadata("limit", std::to_string(limit));
}

std::int64_t RowCount(const wire::ActionSequence& actions) {
  return actions.has_joint_positions() ? actions.joint_positions().row_count()
                                       : actions.kinematic_points_m().row_count();
}

const char* KindField(const wire::ActionSequence& actions) {
  return actions.has_joint_positions()      ? "joint_positions"
         : actions.has_kinematic_points_m() ? "kinematic_points_m"
                                            : "none";
}

/// `field` is the path of `actions`.
Status CheckRowCount(const wire::ActionSequence& actions, const std::string& field,
                     const Limits& limits) {
  if (RowCount(actions) <= limits.max_step_count) return Status::Ok();
  return LimitExceeded(reason::LIMIT_STEPS, field + "." + KindField(actions) + ".row_count",
                       "action rows", RowCount(actions), limits.max_step_count);
}

Status CheckCandidateCount(const wire::PredictCandidatesRequest& request, const Limits& limits) {
  const int count = request.candidates_size();
  if (count == 0) {
    return Mismatch(reason::ACTION_SHAPE, "candidates", "at least 1", "none");
  }
  if (count > limits.max_candidate_count) {
    return LimitExceeded(reason::LIMIT_CANDIDATES, "candidates", "candidates", count,
                         limits.max_candidate_count);
  }
  return Status::Ok();
}

/// Compares every candidate with the first.
Status CheckAlike(const wire::PredictCandidatesRequest& request) {
  const wire::ActionSequence& first = request.candidates(0);
  for (int i = 1; i < request.candidates_size(); ++i) {
    const wire::ActionSequence& candidate = request.candidates(i);
    const std::string field = Indexed("candidates", i);
    if (candidate.kind_case() != first.kind_case()) {
      return Mismatch(reason::ACTION_KIND, field,
                      std::string(KindField(first)) + ", as the first candidate",
                      KindField(candidate));
    }
    if (RowCount(candidate) != RowCount(first)) {
      return Mismatch(reason::ACTION_SHAPE, field + "." + KindField(candidate) + ".row_count",
                      std::to_string(RowCount(first)) + ", as of the first candidate",
                      std::to_string(RowCount(candidate)));
    }
  }
  return Status::Ok();
}

StatusOr<PositionEncoding> ToPositionEncoding(wire::PositionEncoding encoding) {
  switch (encoding) {
    case wire::POSITION_ENCODING_UNSPECIFIED:
    case wire::POSITION_ENCODING_FLOAT32:
      return PositionEncoding::kFloat32;
    case wire::POSITION_ENCODING_WORKSPACE_U16:
      return PositionEncoding::kWorkspaceU16;
    default:
      return Mismatch(reason::SELECTION_INVALID, "position_encoding", "FLOAT32 or WORKSPACE_U16",
                      std::to_string(encoding));
  }
}

StatusOr<RenderMode> ToRenderMode(wire::RenderMode mode) {
  switch (mode) {
    case wire::RENDER_MODE_UNSPECIFIED:
    case wire::RENDER_MODE_OBSERVED:
      return RenderMode::kObserved;
    case wire::RENDER_MODE_FIELD:
      return RenderMode::kField;
    default:
      return Mismatch(reason::SELECTION_INVALID, "render_mode", "OBSERVED or FIELD",
                      std::to_string(mode));
  }
}

StatusOr<MotionSource> ToMotionSource(wire::MotionSource motion) {
  switch (motion) {
    case wire::MOTION_SOURCE_UNSPECIFIED:
    case wire::MOTION_SOURCE_MODEL:
      return MotionSource::kModel;
    case wire::MOTION_SOURCE_ROBOT_ONLY:
      return MotionSource::kRobotOnly;
    default:
      return Mismatch(reason::SELECTION_INVALID, "motion", "MODEL or ROBOT_ONLY",
                      std::to_string(motion));
  }
}

Status ReadSelection(const wire::ParticleSelection& selection, OutputOptions* plain) {
  if (selection.has_initial_region()) {
    auto box = ToBox(selection.initial_region());
    if (!box.ok()) {
      const Status& status = box.status();
      Status refused = InvalidArgument(reason::SELECTION_INVALID, status.message());
      for (const auto& [key, value] : status.metadata()) {
        static_cast<void>(std::move(refused).WithMetadata(key, value));  // modifies `refused`
      }
      return std::move(refused).WithField("initial_region");
    }
    plain->initial_region = *box;
  }
  if (selection.stride() < 0) {
    return Mismatch(reason::SELECTION_INVALID, "stride", "0 or more",
                    std::to_string(selection.stride()));
  }
  plain->stride = std::max(selection.stride(), 1);
  return Status::Ok();
}

const CameraSpec* FindCamera(const ModelMetadata& metadata, const std::string& name) {
  const auto found = std::find_if(metadata.cameras.begin(), metadata.cameras.end(),
                                  [&](const CameraSpec& camera) { return camera.name == name; });
  return found == metadata.cameras.end() ? nullptr : &*found;
}

Status CheckSide(const char* field, int side_px, int max_side_px) {
  if (side_px <= max_side_px) return Status::Ok();
  return LimitExceeded(reason::LIMIT_RENDER_SIDE, field, "view side in pixels", side_px,
                       max_side_px);
}

Status ReadTargetView(const wire::RenderTarget& target, const ModelMetadata& metadata,
                      int max_side_px, RenderTarget* plain) {
  if (target.has_scene_camera_name()) {
    plain->scene_camera_name = target.scene_camera_name();
    const CameraSpec* camera = FindCamera(metadata, plain->scene_camera_name);
    if (camera == nullptr) {
      return Mismatch(reason::CAMERA_UNKNOWN, "scene_camera_name", "a camera of the model",
                      "\"" + plain->scene_camera_name + "\"");
    }
    return CheckSide("scene_camera_name", std::max(camera->width_px, camera->height_px),
                     max_side_px);
  }
  if (!target.has_camera()) {
    return Mismatch(reason::RENDER_TARGET_INVALID, "camera", "camera or scene_camera_name",
                    "neither");
  }
  for (const auto& [field, side_px] :
       {std::pair{"camera.width_px", target.camera().width_px()},
        std::pair{"camera.height_px", target.camera().height_px()}}) {
    INTERLACER_RETURN_IF_ERROR(CheckSide(field, side_px, max_side_px));
  }
  auto camera = ToCamera(target.camera());
  if (!camera.ok()) return camera.status().WithFieldPrefix("camera");
  if (camera->distortion_model != DistortionModel::kNone) {
    return Mismatch(reason::DISTORTION_INVALID, "camera.distortion_model",
                    "DISTORTION_MODEL_NONE for a view", "a lens model");
  }
  plain->camera = *std::move(camera);
  return Status::Ok();
}

Status ReadTargetContainer(const wire::RenderTarget& target, RenderTarget* plain) {
  switch (target.encoding()) {
    case wire::PIXEL_ENCODING_UNSPECIFIED:
    case wire::PIXEL_ENCODING_RGB8:
      plain->encoding = ViewEncoding::kRgb8;
      break;
    case wire::PIXEL_ENCODING_DEPTH_F32:
      plain->encoding = ViewEncoding::kDepthF32;
      break;
    default:
      return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding", "RGB8 or DEPTH_F32",
                      std::to_string(target.encoding()));
  }
  switch (target.compression()) {
    case wire::IMAGE_COMPRESSION_UNSPECIFIED:
    case wire::IMAGE_COMPRESSION_NONE:
      plain->compression = ViewCompression::kNone;
      break;
    case wire::IMAGE_COMPRESSION_PNG:
      plain->compression = ViewCompression::kPng;
      break;
    case wire::IMAGE_COMPRESSION_JPEG:
      plain->compression = ViewCompression::kJpeg;
      break;
    default:
      return Mismatch(reason::COMPRESSION_UNSUPPORTED, "compression", "NONE, PNG or JPEG",
                      std::to_string(target.compression()));
  }
  if (plain->encoding == ViewEncoding::kDepthF32 && plain->compression != ViewCompression::kNone) {
    return Mismatch(reason::COMPRESSION_UNSUPPORTED, "compression", "NONE for depth",
                    std::to_string(target.compression()));
  }
  if (target.jpeg_quality() < 0 || target.jpeg_quality() > 100) {
    return Mismatch(reason::RENDER_TARGET_INVALID, "jpeg_quality", "0 to 100",
                    std::to_string(target.jpeg_quality()));
  }
  plain->jpeg_quality = target.jpeg_quality() == 0 ? kDefaultJpegQuality : target.jpeg_quality();
  return Status::Ok();
}

Status ReadTargets(const wire::OutputOptions& output, const ModelMetadata& metadata,
                   const Limits& limits, OutputOptions* plain) {
  if (output.render_targets_size() > limits.max_render_target_count) {
    return LimitExceeded(reason::LIMIT_RENDER_TARGETS, "render_targets", "views",
                         output.render_targets_size(), limits.max_render_target_count);
  }
  std::unordered_set<std::string> names;
  for (int i = 0; i < output.render_targets_size(); ++i) {
    const wire::RenderTarget& target = output.render_targets(i);
    const std::string field = Indexed("render_targets", i);
    RenderTarget view;
    view.name = target.target_name();
    if (view.name.empty() || view.name.size() > kMaxTargetNameLength ||
        !names.insert(view.name).second) {
      return Mismatch(reason::RENDER_TARGET_INVALID, field + ".target_name",
                      "a name of 1 to 64 bytes, unique in the request", "\"" + view.name + "\"");
    }
    const bool is_jpeg = target.compression() == wire::IMAGE_COMPRESSION_JPEG;
    int max_side_px = limits.max_render_side_px;
    if (is_jpeg) max_side_px = std::min(max_side_px, kMaxJpegSidePx);
    Status status = ReadTargetView(target, metadata, max_side_px, &view);
    if (status.ok()) status = ReadTargetContainer(target, &view);
    if (!status.ok()) return std::move(status).WithFieldPrefix(field);
    plain->render_targets.push_back(std::move(view));
  }
  return Status::Ok();
}

struct ViewSize {
  std::int64_t width_px = 0, height_px = 0;
  std::int64_t pixel_count() const { return width_px * height_px; }
};

ViewSize ViewSizeOf(const RenderTarget& target, const ModelMetadata& metadata) {
  if (target.camera) return {target.camera->width_px, target.camera->height_px};
  const CameraSpec* camera = FindCamera(metadata, target.scene_camera_name);
  INTERLACER_CHECK(camera != nullptr, target.scene_camera_name);
  return {camera->width_px, camera->height_px};
}

/// At most what a view takes in a message, whatever it shows (common/image_codec.h).
std::int64_t MaxViewBytes(const RenderTarget& target, const ViewSize& size) {
  // Headers, tables and checksums of a file.
  constexpr std::int64_t kFileBytes = 1024;
  switch (target.compression) {
    case ViewCompression::kNone:
      break;
    case ViewCompression::kPng: {
      // What cannot be coded is stored, in blocks with 5 bytes before them; a row has a filter's.
      constexpr std::int64_t kLeastBlockBytes = 5000;
      const std::int64_t bytes = size.height_px * (1 + 3 * size.width_px);
      return bytes + 5 * (bytes / kLeastBlockBytes + 1) + kFileBytes;
    }
    case ViewCompression::kJpeg: {
      // Blocks of 8 x 8 are whole. Of the energy of RGB8 without subsampling and at quality 100 the
      // standard's codes make at most 46 bits a pixel; noise has 33.
      constexpr std::int64_t kBitsPerPixel = 47, kSide = 8;
      const ViewSize blocks{(size.width_px + kSide - 1) / kSide,
                            (size.height_px + kSide - 1) / kSide};
      return blocks.pixel_count() * kSide * kSide * kBitsPerPixel / 8 + kFileBytes;
    }
  }
  return size.pixel_count() * (target.encoding == ViewEncoding::kRgb8 ? 3 : 4);
}

/// Field paths are relative to `output`; the number of action rows has been checked.
StatusOr<OutputOptions> ReadOutput(const wire::OutputOptions& output,
                                   const wire::ActionSequence& actions,
                                   const ModelMetadata& metadata, const Limits& limits) {
  OutputOptions plain;
  const bool has_robot = actions.kind_case() != wire::ActionSequence::KIND_NOT_SET;
  INTERLACER_ASSIGN_OR_RETURN(
      plain.steps,
      SelectSteps({output.steps().data(), static_cast<std::size_t>(output.steps_size())}, has_robot,
                  RowCount(actions), limits.max_step_count));
  INTERLACER_ASSIGN_OR_RETURN(plain.position_encoding,
                              ToPositionEncoding(output.position_encoding()));
  plain.include_positions = output.include_positions();
  plain.include_colors = output.include_colors();
  plain.include_spread = output.include_spread();
  if (Status status = ReadSelection(output.particle_selection(), &plain); !status.ok()) {
    return std::move(status).WithFieldPrefix("particle_selection");
  }
  INTERLACER_RETURN_IF_ERROR(ReadTargets(output, metadata, limits, &plain));
  INTERLACER_ASSIGN_OR_RETURN(plain.render_mode, ToRenderMode(output.render_mode()));
  INTERLACER_ASSIGN_OR_RETURN(plain.motion, ToMotionSource(output.motion()));
  return plain;
}

}  // namespace

StatusOr<OutputOptions> ToOutputOptions(const wire::OutputOptions& output,
                                        const wire::ActionSequence& actions,
                                        const ModelMetadata& metadata, const Limits& limits) {
  INTERLACER_RETURN_IF_ERROR(CheckRowCount(actions, "actions", limits));
  auto plain = ReadOutput(output, actions, metadata, limits);
  if (!plain.ok()) return plain.status().WithFieldPrefix("output");
  return plain;
}

StatusOr<OutputOptions> ToCandidateOutput(const wire::PredictCandidatesRequest& request,
                                          const ModelMetadata& metadata, const Limits& limits) {
  INTERLACER_RETURN_IF_ERROR(CheckCandidateCount(request, limits));
  const wire::ActionSequence& first = request.candidates(0);
  INTERLACER_RETURN_IF_ERROR(CheckRowCount(first, Indexed("candidates", 0), limits));
  INTERLACER_RETURN_IF_ERROR(CheckAlike(request));
  auto plain = ReadOutput(request.output(), first, metadata, limits);
  if (!plain.ok()) return plain.status().WithFieldPrefix("output");
  if (request.output().steps().empty()) plain->steps = {plain->steps.back()};
  const std::int64_t steps = std::int64_t{request.candidates_size()} * plain->steps.back();
  if (steps > limits.max_candidate_step_count) {
    return LimitExceeded(reason::LIMIT_CANDIDATE_STEPS, "candidates", "candidates times steps",
                         steps, limits.max_candidate_step_count);
  }
  return plain;
}

RenderedViews CountRenderedViews(const OutputOptions& output, const ModelMetadata& metadata) {
  RenderedViews views;
  for (std::size_t i = 0; i < output.render_targets.size(); ++i) {
    const RenderTarget& target = output.render_targets[i];
    if (i > 0 && ShowSameView(output.render_targets[i - 1], target)) continue;
    ++views.count;
    views.pixel_count += ViewSizeOf(target, metadata).pixel_count();
  }
  return views;
}

StatusOr<std::int64_t> EstimateResponseBytes(const OutputOptions& output, int step_count,
                                             const ModelMetadata& metadata, const Limits& limits) {
  const std::int64_t particles = metadata.particle_count / output.stride + 1;
  const std::int64_t position_bytes =
      output.position_encoding == PositionEncoding::kFloat32 ? 12 : 6;
  std::int64_t bytes = kMessageOverheadBytes;
  if (output.include_positions) bytes += particles * position_bytes;
  if (output.include_colors) bytes += particles * 3;
  if (output.include_spread) bytes += particles * 4;
  if (output.initial_region) bytes += particles * 4;
  for (const RenderTarget& target : output.render_targets) {
    bytes += MaxViewBytes(target, ViewSizeOf(target, metadata));
  }
  bytes *= step_count;  // no overflow: sides and counts are bounded by the limits
  if (bytes <= limits.max_response_bytes) return bytes;
  return LimitExceeded(reason::LIMIT_RESPONSE_BYTES, "output", "bytes of one message", bytes,
                       limits.max_response_bytes);
}

}  // namespace interlacer
