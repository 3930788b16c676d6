#include "model/lifting/scene_views.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/duration.h"
#include "common/number_text.h"
#include "common/scene_limits.h"
#include "common/transforms.h"
#include "data/resized_view.h"

namespace interlacer {
namespace {

constexpr double kMinPlausibleDepthM = 0.05;
constexpr double kMaxPlausibleDepthM = 20;

Status CheckImageSizes(const RgbdView& view) {
  const std::string expected = SizeText(view.camera.width_px, view.camera.height_px);
  const std::string color = SizeText(view.color.width_px, view.color.height_px);
  const std::string depth = SizeText(view.depth.width_px, view.depth.height_px);
  if (color != expected) {
    return Mismatch(reason::CALIBRATION_SIZE_MISMATCH, "color", expected, color);
  }
  if (depth != expected) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "depth", expected, depth);
  }
  const std::size_t pixels = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
  if (view.color.pixels.size() != 3 * pixels) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "color.data", std::to_string(3 * pixels) + " bytes",
                    std::to_string(view.color.pixels.size()));
  }
  if (view.depth.pixels_m.size() != pixels) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "depth.data", std::to_string(pixels) + " pixels",
                    std::to_string(view.depth.pixels_m.size()));
  }
  return Status();
}

/// A median far from plausible depths reveals metres sent as millimetres, or the reverse.
Status CheckDepthScale(const DepthImage& depth) {
  std::vector<float> measured;
  for (const float depth_m : depth.pixels_m) {
    if (std::isfinite(depth_m) && depth_m > 0) measured.push_back(depth_m);
  }
  if (measured.empty()) return Status();
  const auto middle = measured.begin() + static_cast<std::ptrdiff_t>(measured.size() / 2);
  std::nth_element(measured.begin(), middle, measured.end());
  if (*middle >= kMinPlausibleDepthM && *middle <= kMaxPlausibleDepthM) return Status();
  return Mismatch(reason::DEPTH_IMPLAUSIBLE, "depth",
                  "a median of 0.05..20 m (check the unit of the depth values)",
                  std::to_string(*middle) + " m");
}

Status CheckView(const RgbdView& view) {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(view.camera));
  INTERLACER_RETURN_IF_ERROR(CheckImageSizes(view));
  return CheckDepthScale(view.depth);
}

Status CheckCameraNames(const Observation& observation, const ModelMetadata& metadata) {
  for (std::size_t i = 0; i < observation.views.size(); ++i) {
    const std::string& name = observation.views[i].camera_name;
    const std::string field = "views[" + std::to_string(i) + "].camera_name";
    const bool known = std::any_of(metadata.cameras.begin(), metadata.cameras.end(),
                                   [&](const CameraSpec& camera) { return camera.name == name; });
    if (!known) return Mismatch(reason::CAMERA_UNKNOWN, field, "a camera of the model", name);
    if (FindView(observation, name) != &observation.views[i]) {
      return Mismatch(reason::CAMERA_DUPLICATE, field, "each camera once", name + " twice");
    }
  }
  for (const CameraSpec& camera : metadata.cameras) {
    if (FindView(observation, camera.name) == nullptr) {
      return Mismatch(reason::CAMERA_MISSING, "views", "a view of camera " + camera.name, "none");
    }
  }
  return Status();
}

StatusOr<std::vector<RgbdView>> PrepareObservation(const Observation& observation,
                                                   const ModelMetadata& metadata) {
  INTERLACER_RETURN_IF_ERROR(CheckCameraNames(observation, metadata));
  for (std::size_t i = 0; i < observation.views.size(); ++i) {
    if (Status status = CheckView(observation.views[i]); !status.ok()) {
      return std::move(status).WithFieldPrefix("views[" + std::to_string(i) + "].");
    }
  }
  std::vector<RgbdView> views;
  for (const CameraSpec& camera : metadata.cameras) {
    views.push_back(
        ResizedView(*FindView(observation, camera.name), camera.width_px, camera.height_px));
  }
  return views;
}

/// Of the last exposure, from which an observation's time counts.
double LastCaptureTimeNs(const Observation& observation) {
  std::int64_t last_ns = observation.views.front().capture_time_ns;
  for (const RgbdView& view : observation.views) last_ns = std::max(last_ns, view.capture_time_ns);
  return static_cast<double>(last_ns);
}

/// A robot's history must be one model step apart; a scene that stands still may repeat a frame.
Status CheckSpacing(const SceneInput& input, const ModelMetadata& metadata) {
  if (input.history_actions.kind == ActionKind::kNone) return Status();
  const double spacing_s =
      (LastCaptureTimeNs(input.observations[1]) - LastCaptureTimeNs(input.observations[0])) /
      kNanosecondsPerSecond;
  if (std::abs(spacing_s - metadata.step_duration_s) <= metadata.max_history_spacing_error_s) {
    return Status();
  }
  return Mismatch(reason::HISTORY_SPACING, "observations[1]",
                  std::to_string(metadata.step_duration_s) + " s after observations[0], within " +
                      std::to_string(metadata.max_history_spacing_error_s) + " s",
                  std::to_string(spacing_s) + " s");
}

StatusOr<LiftRegion> RegionOf(const SceneInput& input, const ModelMetadata& metadata) {
  const LiftRegion region{input.workspace.value_or(metadata.workspace),
                          input.near_m.value_or(metadata.near_m),
                          input.far_m.value_or(metadata.far_m)};
  INTERLACER_RETURN_IF_ERROR(ValidateBox(region.workspace, kMaxSceneSideM));
  if (!IsDepthRange(region.near_m, region.far_m)) {
    // Names the value that the caller chose: near if far is the model's own.
    const bool is_near_wrong = !(region.near_m > 0) || !input.far_m.has_value();
    return Mismatch(reason::DEPTH_RANGE_INVALID, is_near_wrong ? "near_m" : "far_m",
                    "0 < near < far <= 100 m as float32",
                    NumberText(region.near_m) + " to " + NumberText(region.far_m));
  }
  return region;
}

}  // namespace

const RgbdView* FindView(const Observation& observation, const std::string& name) {
  for (const RgbdView& view : observation.views) {
    if (view.camera_name == name) return &view;
  }
  return nullptr;
}

StatusOr<SceneViews> PrepareViews(const SceneInput& input, const ModelMetadata& metadata) {
  if (input.observations.size() != kHistoryLength) {
    return Mismatch(reason::HISTORY_LENGTH, "observations", std::to_string(kHistoryLength),
                    std::to_string(input.observations.size()));
  }
  SceneViews result;
  INTERLACER_ASSIGN_OR_RETURN(result.region, RegionOf(input, metadata));
  for (std::size_t time = 0; time < kHistoryLength; ++time) {
    auto views = PrepareObservation(input.observations[time], metadata);
    if (!views.ok()) {
      return std::move(views).status().WithFieldPrefix("observations[" + std::to_string(time) +
                                                       "].");
    }
    result.times[time] = *std::move(views);
  }
  INTERLACER_RETURN_IF_ERROR(CheckSpacing(input, metadata));
  for (const CameraSpec& camera : metadata.cameras) {
    const RgbdView& view = *FindView(input.observations.back(), camera.name);
    if (view.camera.width_px == camera.width_px && view.camera.height_px == camera.height_px) {
      continue;
    }
    result.findings.push_back({"IMAGE_RESAMPLED",
                               camera.name + " was resampled from " +
                                   SizeText(view.camera.width_px, view.camera.height_px) + " to " +
                                   SizeText(camera.width_px, camera.height_px),
                               "observations[1].views"});
  }
  return result;
}

}  // namespace interlacer
