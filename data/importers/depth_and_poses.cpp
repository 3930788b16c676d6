#include "data/importers/depth_and_poses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/number_text.h"
#include "common/transforms.h"
#include "data/depth.h"
#include "data/scene_report.h"

namespace interlacer {
namespace {

constexpr std::array<double, 8> kUnitsInUse = {0.01,   0.001,     1.0 / 4000, 1.0 / 5000,
                                               0.0001, 1.0 / 256, 0.00001,    0.00002};
constexpr int kMaxPairs = 6;
/// Views that look the same way from near each other see the same place in any room.
constexpr double kMaxAngleRad = 0.5, kMaxBaselineM = 0.6;
/// Of the median depth: views that agree lie less than this apart.
constexpr double kAgreeing = 0.02;
/// Views farther apart contradict each other.
constexpr double kContradicting = 0.05;
/// How much better another unit must be.
constexpr double kLeastGain = 3;
/// Baselines below this share of the median depth tell nothing.
constexpr double kLeastBaselineShare = 0.02;

constexpr double kInfiniteDistance = std::numeric_limits<double>::infinity();

RgbdView WithDepthFactor(RgbdView view, double factor) {
  for (float& depth_m : view.depth.pixels_m) depth_m *= static_cast<float>(factor);
  return view;
}

/// Distance of the two views' surfaces over their median depth, infinite where one lies behind the
/// other; nothing where too few pixels show the same place.
std::optional<double> RelativeDistance(const RgbdView& a, const RgbdView& b, double factor) {
  const RgbdView scaled_a = WithDepthFactor(a, factor), scaled_b = WithDepthFactor(b, factor);
  const double median_m = MedianDepthM(scaled_b.depth).value_or(0);
  if (!(median_m > 0)) return std::nullopt;
  constexpr double kHugeM = 1e4;  // everything but wild pixels
  const LiftRegion region = {
      {{-kHugeM, -kHugeM, -kHugeM}, {kHugeM, kHugeM, kHugeM}}, 0.01 * median_m, 5 * median_m};
  const CrossCameraDistance distance = MeasureCrossCameraDistance(scaled_a, scaled_b, region);
  if (distance.views_disagree) return kInfiniteDistance;
  if (distance.median_m < 0) return std::nullopt;
  return distance.median_m / median_m;
}

double AngleBetween(const Camera& a, const Camera& b) {
  const Matrix4d m = ToMatrix(Compose(Inverse(a.world_from_camera), b.world_from_camera));
  return std::acos(std::clamp(m[10], -1.0, 1.0));
}

double BaselineM(const Camera& a, const Camera& b) {
  return DistanceM(a.world_from_camera.translation_m, b.world_from_camera.translation_m);
}

/// Views that look the same way from places far apart, spread over the recording.
std::vector<std::pair<int, int>> ChoosePairs(const EpisodeReader& views) {
  std::vector<std::pair<int, int>> pairs;
  const int count = views.camera_count();
  const int stride = std::max(1, count / kMaxPairs);
  for (int first = 0; first < count && std::ssize(pairs) < kMaxPairs; first += stride) {
    int farthest = -1;
    double farthest_m = 0;
    const int look_stride = std::max(1, count / 64);
    for (int other = 0; other < count; other += look_stride) {
      const Camera a = views.CameraAt(0, first), b = views.CameraAt(0, other);
      const double baseline_m = BaselineM(a, b);
      if (AngleBetween(a, b) > kMaxAngleRad || baseline_m <= farthest_m ||
          baseline_m > kMaxBaselineM) {
        continue;
      }
      farthest = other;
      farthest_m = baseline_m;
    }
    if (farthest >= 0) pairs.push_back({first, farthest});
  }
  return pairs;
}

std::string PercentOfDepth(double ratio) {
  return NumberText(std::round(1000 * ratio) / 10) + " %";
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<Finding> CompareDepthWithPoses(const EpisodeReader& episode) {
  const EpisodeReader views = episode.AsStaticViews();
  std::vector<std::pair<RgbdView, RgbdView>> pairs;
  for (const auto& [first, second] : ChoosePairs(views)) {
    auto a = views.ReadView(0, first), b = views.ReadView(0, second);
    if (a.ok() && b.ok()) pairs.emplace_back(*std::move(a), *std::move(b));
  }
  if (pairs.empty()) return std::nullopt;
  const auto distance_with = [&](double factor) {
    std::vector<double> distances;
    for (const auto& [a, b] : pairs) {
      if (const auto distance = RelativeDistance(a, b, factor)) distances.push_back(*distance);
    }
    return distances.empty() ? std::nullopt : std::optional(Median(std::move(distances)));
  };
  const double unit_m = episode.manifest().cameras[0].depth_unit_m;
  const std::optional<double> known = distance_with(1);
  if (!known || *known <= kAgreeing) return std::nullopt;
  const double own = *known;
  double best = kInfiniteDistance, best_unit_m = unit_m;
  for (const double other_m : kUnitsInUse) {
    const double factor = other_m / unit_m;
    if (std::abs(factor - 1) < 0.01) continue;
    // Scaled far away, any two clouds agree: nothing but rotation is left of the poses.
    std::vector<double> baselines;
    for (const auto& [a, b] : pairs) {
      const double median_m = factor * MedianDepthM(b.depth).value_or(0);
      baselines.push_back(BaselineM(a.camera, b.camera) / std::max(median_m, 1e-9));
    }
    if (Median(baselines) < kLeastBaselineShare) continue;
    const double distance = distance_with(factor).value_or(kInfiniteDistance);
    if (distance < best) {
      best = distance;
      best_unit_m = other_m;
    }
  }
  const std::string got = std::isfinite(own) ? PercentOfDepth(own) + " of their depth apart"
                                             : "so far apart that they share no place";
  if (best <= kAgreeing && kLeastGain * best <= own) {
    return Finding{"DEPTH_UNIT_SUSPECT",
                   "with " + NumberText(unit_m) + " m a depth integer the views' surfaces lie " +
                       got + ", with " + NumberText(best_unit_m) + " m within " +
                       PercentOfDepth(best) + ": is --depth-unit " + NumberText(best_unit_m) +
                       " right?",
                   "depth"};
  }
  if (episode.manifest().kind != EpisodeKind::kMovingCamera || own <= kContradicting) {
    return std::nullopt;
  }
  return Finding{"CALIBRATION_SUSPECT",
                 "surfaces that two frames see lie " + got +
                     ": are the poses world_from_camera with x y z w, and the depths along the "
                     "camera's axis?",
                 "poses"};
}

}  // namespace interlacer
