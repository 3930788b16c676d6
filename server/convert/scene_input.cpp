#include "server/convert/scene_input.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "common/duration.h"
#include "common/number_text.h"
#include "common/scene_limits.h"
#include "server/convert/actions.h"
#include "server/convert/calibration.h"
#include "server/convert/images.h"

namespace interlacer {
namespace {

/// Earliest and latest exposure time of an observation.
struct TimeSpan {
  std::int64_t first_ns = INT64_MAX;
  std::int64_t last_ns = INT64_MIN;

  void Add(std::int64_t time_ns) {
    first_ns = std::min(first_ns, time_ns);
    last_ns = std::max(last_ns, time_ns);
  }
  double length_s() const {
    // In double, so that extreme times of a request cannot overflow.
    return (static_cast<double>(last_ns) - static_cast<double>(first_ns)) / kNanosecondsPerSecond;
  }
};

std::optional<std::size_t> CameraIndex(const ModelMetadata& metadata, const std::string& name) {
  for (std::size_t i = 0; i < metadata.cameras.size(); ++i) {
    if (metadata.cameras[i].name == name) return i;
  }
  return std::nullopt;
}

std::string CameraNames(const ModelMetadata& metadata) {
  std::string names;
  for (const CameraSpec& camera : metadata.cameras) {
    names += (names.empty() ? "" : ", ") + camera.name;
  }
  return names;
}

Status CheckTimes(const wire::RgbdView& view, TimeSpan* span) {
  if (!view.has_capture_time()) {
    return Mismatch(reason::TIMESTAMP_INVALID, "capture_time", "a time", "nothing");
  }
  auto capture_time_ns = ToNanoseconds(view.capture_time());
  if (!capture_time_ns.ok()) return capture_time_ns.status().WithFieldPrefix("capture_time");
  span->Add(*capture_time_ns);
  if (view.has_depth_capture_time()) {
    auto depth_time_ns = ToNanoseconds(view.depth_capture_time());
    if (!depth_time_ns.ok()) return depth_time_ns.status().WithFieldPrefix("depth_capture_time");
    span->Add(*depth_time_ns);
  }
  return Status::Ok();
}

Status CheckImages(const wire::RgbdView& view, const PixelPayloads& payloads, int max_side_px) {
  if (!view.has_color()) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "color", "an image", "nothing");
  }
  if (!view.has_depth()) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "depth", "an image", "nothing");
  }
  const wire::Image &color = view.color(), &depth = view.depth();
  if (Status status = CheckColorImage(color, payloads.Of(color), max_side_px); !status.ok()) {
    return std::move(status).WithFieldPrefix("color");
  }
  if (Status status = CheckDepthImage(depth, payloads.Of(depth), max_side_px); !status.ok()) {
    return std::move(status).WithFieldPrefix("depth");
  }
  if (depth.width_px() != color.width_px() || depth.height_px() != color.height_px()) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "depth",
                    SizeText(color.width_px(), color.height_px()) + " px, as colour",
                    SizeText(depth.width_px(), depth.height_px()) + " px");
  }
  return Status::Ok();
}

Status CheckView(const wire::RgbdView& view, const PixelPayloads& payloads, const Limits& limits,
                 TimeSpan* span) {
  INTERLACER_RETURN_IF_ERROR(CheckTimes(view, span));
  if (!view.has_calibration()) {
    return Mismatch(reason::CALIBRATION_INVALID, "calibration", "a calibration", "nothing");
  }
  INTERLACER_RETURN_IF_ERROR(CheckImages(view, payloads, limits.max_image_side_px));
  auto camera = ToCamera(view.calibration());
  if (!camera.ok()) return camera.status().WithFieldPrefix("calibration");
  if (camera->width_px != view.color().width_px() ||
      camera->height_px != view.color().height_px()) {
    return Mismatch(
        reason::CALIBRATION_SIZE_MISMATCH, "calibration",
        SizeText(view.color().width_px(), view.color().height_px()) + " px, as the image",
        SizeText(camera->width_px, camera->height_px) + " px");
  }
  return Status::Ok();
}

/// Requires every camera of the model exactly once. Sets `view_indices` to the view of each camera.
Status CheckCameraSet(const wire::Observation& observation, const ModelMetadata& metadata,
                      std::vector<int>* view_indices) {
  constexpr int kNone = -1;
  view_indices->assign(metadata.cameras.size(), kNone);
  for (int v = 0; v < observation.views_size(); ++v) {
    const std::string& name = observation.views(v).camera_name();
    const auto index = CameraIndex(metadata, name);
    const std::string field = Indexed("views", v) + ".camera_name";
    if (!index) {
      return Mismatch(reason::CAMERA_UNKNOWN, field, "one of " + CameraNames(metadata),
                      "\"" + name + "\"");
    }
    if ((*view_indices)[*index] != kNone) {
      return Mismatch(reason::CAMERA_DUPLICATE, field, "every camera once",
                      "\"" + name + "\" twice");
    }
    (*view_indices)[*index] = v;
  }
  for (std::size_t i = 0; i < view_indices->size(); ++i) {
    if ((*view_indices)[i] == kNone) {
      return Mismatch(reason::CAMERA_MISSING, "views", "a view of " + metadata.cameras[i].name,
                      "none");
    }
  }
  return Status::Ok();
}

Status CheckObservation(const wire::Observation& observation, const PixelPayloads& payloads,
                        const ModelMetadata& metadata, const Limits& limits, TimeSpan* span,
                        std::vector<int>* view_indices) {
  INTERLACER_RETURN_IF_ERROR(CheckCameraSet(observation, metadata, view_indices));
  for (int v = 0; v < observation.views_size(); ++v) {
    if (Status status = CheckView(observation.views(v), payloads, limits, span); !status.ok()) {
      return std::move(status).WithFieldPrefix(Indexed("views", v));
    }
  }
  if (span->length_s() > limits.max_camera_skew_s) {
    return Mismatch(reason::CAMERA_SKEW_TOO_LARGE, "views",
                    "exposures within " + std::to_string(limits.max_camera_skew_s) + " s",
                    std::to_string(span->length_s()) + " s");
  }
  return Status::Ok();
}

/// `field` is the path of the later observation.
Status CheckSpacing(std::int64_t earlier_ns, std::int64_t later_ns, const ModelMetadata& metadata,
                    const std::string& field) {
  // In double, so that extreme times of a request cannot overflow.
  const double spacing_s =
      (static_cast<double>(later_ns) - static_cast<double>(earlier_ns)) / kNanosecondsPerSecond;
  if (std::abs(spacing_s - metadata.step_duration_s) <= metadata.max_history_spacing_error_s) {
    return Status::Ok();
  }
  return Mismatch(reason::HISTORY_SPACING, field,
                  std::to_string(metadata.step_duration_s) + " s after the one before, within " +
                      std::to_string(metadata.max_history_spacing_error_s) + " s",
                  std::to_string(spacing_s) + " s");
}

/// The history of a window that has moved on by `row`.
StatusOr<ActionSequence> MoveHistory(const ActionSequence& before, const wire::ActionSequence& row,
                                     const ModelMetadata& metadata) {
  constexpr char kField[] = "history_action";
  auto next = ToActionSequence(row, metadata);
  if (!next.ok()) return next.status().WithFieldPrefix(kField);
  if (next->kind != before.kind) {
    return Mismatch(reason::ACTION_KIND, kField,
                    std::string(KindName(before.kind)) + ", as in the scene's history",
                    KindName(next->kind));
  }
  if (next->kind == ActionKind::kNone) return before;
  if (next->row_count != 1) {
    return Mismatch(reason::HISTORY_LENGTH, kField, "1 row", std::to_string(next->row_count));
  }
  ActionSequence moved = before;
  moved.values.erase(moved.values.begin(), moved.values.begin() + moved.column_count);
  moved.values.insert(moved.values.end(), next->values.begin(), next->values.end());
  return moved;
}

StatusOr<ActionSequence> CheckHistory(const wire::SceneInput& input,
                                      const ModelMetadata& metadata) {
  auto history = ToActionSequence(input.history_actions(), metadata);
  if (!history.ok()) return history.status().WithFieldPrefix("history_actions");
  if (history->kind != ActionKind::kNone && history->row_count != metadata.history_step_count) {
    return Mismatch(reason::HISTORY_LENGTH, "history_actions",
                    std::to_string(metadata.history_step_count) + " rows, one an observation",
                    std::to_string(history->row_count));
  }
  return history;
}

Status CheckDepthRange(const wire::SceneInput& input, const ModelMetadata& metadata) {
  const double near_m = input.has_near_m() ? input.near_m() : metadata.near_m;
  const double far_m = input.has_far_m() ? input.far_m() : metadata.far_m;
  if (!std::isfinite(near_m) || near_m <= 0) {
    return Mismatch(reason::DEPTH_RANGE_INVALID, "near_m", "above 0", NumberText(near_m));
  }
  if (!IsDepthRange(near_m, far_m)) {
    return Mismatch(reason::DEPTH_RANGE_INVALID, input.has_far_m() ? "far_m" : "near_m",
                    "near_m below far_m as float32, far_m at most " + NumberText(kMaxSceneRangeM),
                    NumberText(near_m) + " to " + NumberText(far_m));
  }
  return Status::Ok();
}

/// Adds an observation to the host memory of all decoded frames, and to whether all are raw.
void AddFrames(const wire::Observation& observation, CheckedScene* scene) {
  for (const wire::RgbdView& view : observation.views()) {
    scene->decoded_bytes += DecodedViewBytes(view.color());
    scene->is_raw &= view.color().compression() == wire::IMAGE_COMPRESSION_NONE &&
                     view.depth().compression() == wire::IMAGE_COMPRESSION_NONE;
  }
}

std::int64_t PixelCount(const wire::Observation& observation) {
  std::int64_t count = 0;
  for (const wire::RgbdView& view : observation.views()) {
    count += std::int64_t{view.color().width_px()} * view.color().height_px();
  }
  return count;
}

Status DecodeView(const wire::RgbdView& view, const PixelPayloads& payloads, RgbdView* plain) {
  plain->camera_name = view.camera_name();
  INTERLACER_ASSIGN_OR_RETURN(plain->camera, ToCamera(view.calibration()));
  TimeSpan span;
  INTERLACER_RETURN_IF_ERROR(CheckTimes(view, &span));
  plain->capture_time_ns = span.last_ns;
  if (Status status = DecodeColorImage(view.color(), payloads.Of(view.color()), &plain->color);
      !status.ok()) {
    return std::move(status).WithFieldPrefix("color");
  }
  if (Status status = DecodeDepthImage(view.depth(), payloads.Of(view.depth()), &plain->depth);
      !status.ok()) {
    return std::move(status).WithFieldPrefix("depth");
  }
  return Status::Ok();
}

}  // namespace

StatusOr<CheckedScene> CheckSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                                       const ModelMetadata& metadata, const Limits& limits) {
  if (input.observations_size() != metadata.history_step_count) {
    return Mismatch(reason::HISTORY_LENGTH, "observations",
                    std::to_string(metadata.history_step_count) + " observations",
                    std::to_string(input.observations_size()));
  }
  CheckedScene scene;
  scene.is_raw = true;
  std::vector<TimeSpan> spans(input.observations_size());
  scene.view_indices.resize(input.observations_size());
  for (int o = 0; o < input.observations_size(); ++o) {
    if (Status status = CheckObservation(input.observations(o), payloads, metadata, limits,
                                         &spans[o], &scene.view_indices[o]);
        !status.ok()) {
      return std::move(status).WithFieldPrefix(Indexed("observations", o));
    }
    if (spans[o].length_s() > scene.camera_skew_s) {
      scene.camera_skew_s = spans[o].length_s();
      scene.skewed_observation = o;
    }
  }
  for (std::size_t i = 1; i < spans.size(); ++i) {
    INTERLACER_RETURN_IF_ERROR(CheckSpacing(spans[i - 1].last_ns, spans[i].last_ns, metadata,
                                            Indexed("observations", static_cast<int>(i))));
  }
  INTERLACER_RETURN_IF_ERROR(CheckDepthRange(input, metadata));
  scene.workspace = metadata.workspace;
  if (input.has_workspace()) {
    auto box = ToBox(input.workspace());
    if (!box.ok()) return box.status().WithFieldPrefix("workspace");
    scene.workspace = *box;
  }
  INTERLACER_ASSIGN_OR_RETURN(scene.history_actions, CheckHistory(input, metadata));
  scene.newest_capture_time_ns = spans.back().last_ns;
  for (const wire::Observation& observation : input.observations()) AddFrames(observation, &scene);
  scene.newest_pixel_count = PixelCount(*input.observations().rbegin());
  return scene;
}

StatusOr<CheckedScene> CheckNextObservation(const wire::Observation& observation,
                                            const wire::ActionSequence& row,
                                            const PixelPayloads& payloads,
                                            const ModelMetadata& metadata, const Limits& limits,
                                            const CheckedScene& before) {
  CheckedScene scene;
  scene.view_indices = {before.view_indices.back(), {}};
  TimeSpan span;
  if (Status status = CheckObservation(observation, payloads, metadata, limits, &span,
                                       &scene.view_indices.back());
      !status.ok()) {
    return std::move(status).WithFieldPrefix("observation");
  }
  scene.camera_skew_s = span.length_s();
  scene.skewed_observation = 1;
  scene.newest_capture_time_ns = span.last_ns;
  INTERLACER_RETURN_IF_ERROR(
      CheckSpacing(before.newest_capture_time_ns, span.last_ns, metadata, "observation"));
  scene.workspace = before.workspace;
  INTERLACER_ASSIGN_OR_RETURN(scene.history_actions,
                              MoveHistory(before.history_actions, row, metadata));
  scene.is_raw = true;
  AddFrames(observation, &scene);
  scene.newest_pixel_count = PixelCount(observation);
  return scene;
}

Status DecodeSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                        const ModelMetadata& metadata, const std::atomic<bool>& is_over,
                        SceneInput* plain) {
  plain->seed = input.seed();
  plain->workspace.reset();
  if (input.has_workspace()) {
    INTERLACER_ASSIGN_OR_RETURN(plain->workspace, ToBox(input.workspace()));
  }
  plain->near_m = input.has_near_m() ? std::optional(input.near_m()) : std::nullopt;
  plain->far_m = input.has_far_m() ? std::optional(input.far_m()) : std::nullopt;
  INTERLACER_ASSIGN_OR_RETURN(plain->history_actions, CheckHistory(input, metadata));
  plain->observations.resize(input.observations_size());
  for (int o = 0; o < input.observations_size(); ++o) {
    std::vector<RgbdView>& views = plain->observations[o].views;
    views.resize(metadata.cameras.size());
    for (int v = 0; v < input.observations(o).views_size(); ++v) {
      if (is_over) return Cancelled("the call has ended");
      const wire::RgbdView& view = input.observations(o).views(v);
      if (Status status =
              DecodeView(view, payloads, &views[*CameraIndex(metadata, view.camera_name())]);
          !status.ok()) {
        return std::move(status).WithFieldPrefix(Indexed("observations", o) + "." +
                                                 Indexed("views", v));
      }
    }
  }
  return Status::Ok();
}

std::string FieldInRequest(const CheckedScene& scene, const std::string& field) {
  unsigned observation = 0, camera = 0;
  // %n is reached only if the whole prefix matched; else `length` stays 0.
  int length = 0;
  std::sscanf(field.c_str(), "observations[%u].views[%u]%n", &observation, &camera, &length);
  if (length == 0 || observation >= scene.view_indices.size() ||
      camera >= scene.view_indices[observation].size()) {
    return field;
  }
  return Indexed("observations", static_cast<int>(observation)) + "." +
         Indexed("views", scene.view_indices[observation][camera]) + field.substr(length);
}

}  // namespace interlacer
