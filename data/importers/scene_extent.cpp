#include "data/importers/scene_extent.h"

#include <algorithm>
#include <cmath>

#include "common/number_text.h"
#include "common/scene_limits.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr int kPixelStride = 8;
constexpr double kDefaultNearM = 0.1;
constexpr double kFarStepM = 0.1;
constexpr double kLowShare = 0.01, kHighShare = 0.99;
constexpr double kMarginShare = 0.05;
constexpr double kMinMarginM = 0.02;

double Percentile(std::vector<double>* values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), values->begin() + at, values->end());
  return (*values)[at];
}

}  // namespace

void SceneExtent::Add(const Camera& camera, const DepthImage16& depth, std::int64_t max_samples) {
  const double pixels = static_cast<double>(depth.width_px) * depth.height_px;
  const int stride =
      // A stride in both directions takes 1 / stride^2 of the pixels.
      std::max(kPixelStride,
               static_cast<int>(std::ceil(std::sqrt(pixels / static_cast<double>(max_samples)))));
  for (int v = 0; v < depth.height_px; v += stride) {
    for (int u = 0; u < depth.width_px; u += stride) {
      const auto value = depth.pixels[static_cast<std::size_t>(v) * depth.width_px + u];
      if (value == 0) continue;
      const double z_m = static_cast<float>(value * depth.unit_m);  // as DepthToMeters
      const auto ray = UndistortPixel(camera, u, v);
      const double range_m = z_m * std::sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
      samples_.push_back(
          {range_m, Apply(camera.world_from_camera, {ray[0] * z_m, ray[1] * z_m, z_m})});
    }
  }
}

void SceneExtent::Append(SceneExtent other) {
  samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
}

StatusOr<SceneExtent::Result> SceneExtent::Finish(std::optional<double> near_m,
                                                  std::optional<double> far_m,
                                                  const std::optional<Box>& workspace) const {
  const Status no_depth =
      InvalidArgument(reason::NO_DEPTH, "no pixel with a depth in range").WithField("depth");
  if (samples_.empty()) return no_depth;
  Result result;
  result.near_m = near_m.value_or(kDefaultNearM);
  if (far_m) {
    result.far_m = *far_m;
  } else {
    std::vector<double> ranges_m;
    for (const Sample& sample : samples_) ranges_m.push_back(sample.range_m);
    result.far_m = std::ceil(Percentile(&ranges_m, kHighShare) / kFarStepM) * kFarStepM;
    result.notes.push_back("far_m: 99th percentile of the measured ranges, rounded up to 0.1 m");
  }
  if (!IsDepthRange(result.near_m, result.far_m)) {
    return Mismatch(reason::DEPTH_RANGE_INVALID, "near_m, far_m",
                    "0 < near_m < far_m <= 100 as float32",
                    NumberText(result.near_m) + ", " + NumberText(result.far_m));
  }
  if (workspace) {
    result.workspace = *workspace;
    INTERLACER_RETURN_IF_ERROR(ValidateBox(*workspace, kMaxSceneSideM));
    return result;
  }
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<double> values;
    for (const Sample& sample : samples_) {
      if (sample.range_m >= result.near_m && sample.range_m <= result.far_m) {
        values.push_back(sample.world_m[axis]);
      }
    }
    if (values.empty()) return no_depth;
    const double low = Percentile(&values, kLowShare), high = Percentile(&values, kHighShare);
    const double margin = std::max(kMinMarginM, kMarginShare * (high - low));
    result.workspace.min_m[axis] = low - margin;
    result.workspace.max_m[axis] = high + margin;
  }
  result.notes.push_back(
      "workspace_m: 1st to 99th percentile of the points between near and far, grown by 5 % of "
      "each side");
  INTERLACER_RETURN_IF_ERROR(ValidateBox(result.workspace, kMaxSceneSideM));
  return result;
}

}  // namespace interlacer
