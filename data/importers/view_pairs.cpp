#include "data/importers/view_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "data/depth.h"
#include "data/importers/color_agreement.h"
#include "data/scene_report.h"

namespace interlacer {
namespace {

constexpr int kMaxPairs = 6;
/// Views that look the same way from near each other see the same place in any room.
constexpr double kMaxAngleRad = 0.5;

/// Distance of the two views' surfaces over the median depth of `b`.
std::optional<double> RelativeDistance(const RgbdView& a, const RgbdView& b, double median_m) {
  if (!(median_m > 0)) return std::nullopt;
  constexpr double kHugeM = 1e4;  // everything but wild pixels
  const LiftRegion region = {
      {{-kHugeM, -kHugeM, -kHugeM}, {kHugeM, kHugeM, kHugeM}}, 0.01 * median_m, 5 * median_m};
  const CrossCameraDistance distance = MeasureCrossCameraDistance(a, b, region);
  if (distance.views_disagree) return std::numeric_limits<double>::infinity();
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

std::string PercentOfDepth(double ratio) {
  return NumberText(std::round(1000 * ratio) / 10) + " %";
}

std::optional<double> MedianOrNone(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string AgreementText(const Agreement& agreement) {
  std::string text = "share too few points to be compared";
  if (agreement.distance) {
    text = std::isfinite(*agreement.distance)
               ? "lie " + PercentOfDepth(*agreement.distance) + " of their depth apart"
               : "lie so far apart that they share no place";
  }
  if (agreement.correlation) {
    text += " and their colours correlate by " +
            NumberText(std::round(100 * *agreement.correlation) / 100);
  }
  return text;
}

PairIndices ChoosePairs(const EpisodeReader& views, double max_baseline_m,
                        const ViewChange& change) {
  const int count = views.camera_count();
  std::vector<Camera> cameras;
  for (int camera = 0; camera < count; ++camera) {
    RgbdView view;
    view.camera = views.CameraAt(0, camera);
    if (change) change(&view);
    cameras.push_back(view.camera);
  }
  PairIndices pairs;
  const int stride = std::max(1, count / kMaxPairs), look_stride = std::max(1, count / 64);
  for (int first = 0; first < count && std::ssize(pairs) < kMaxPairs; first += stride) {
    int farthest = -1;
    double farthest_m = 0;
    for (int other = 0; other < count; other += look_stride) {
      const double baseline_m = BaselineM(cameras[first], cameras[other]);
      if (AngleBetween(cameras[first], cameras[other]) > kMaxAngleRad || baseline_m <= farthest_m ||
          baseline_m > max_baseline_m) {
        continue;
      }
      farthest = other;
      farthest_m = baseline_m;
    }
    if (farthest >= 0) pairs.push_back({first, farthest});
  }
  return pairs;
}

ViewPairs::ViewPairs(const EpisodeReader& views, PairIndices indices)
    : indices_(std::move(indices)) {
  for (const auto& [first, second] : indices_) {
    auto a = views.ReadView(0, first), b = views.ReadView(0, second);
    if (a.ok() && b.ok()) pairs_.emplace_back(*std::move(a), *std::move(b));
  }
}

Agreement ViewPairs::Measure(const ViewChange& change) const {
  std::vector<Agreement> of_pairs(pairs_.size());
  ParallelFor(std::ssize(pairs_), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      auto [a, b] = pairs_[static_cast<std::size_t>(i)];
      if (change) change(&a), change(&b);
      const double median_m = MedianDepthM(b.depth).value_or(0);
      of_pairs[static_cast<std::size_t>(i)] = {
          RelativeDistance(a, b, median_m), ColorCorrelation(a, b),
          BaselineM(a.camera, b.camera) / std::max(median_m, 1e-9)};
    }
  });
  std::vector<double> distances, correlations, baselines;
  for (const Agreement& of_pair : of_pairs) {
    if (of_pair.distance) distances.push_back(*of_pair.distance);
    if (of_pair.correlation) correlations.push_back(*of_pair.correlation);
    baselines.push_back(of_pair.baseline);
  }
  return {MedianOrNone(std::move(distances)), MedianOrNone(std::move(correlations)),
          MedianOrNone(std::move(baselines)).value_or(0)};
}

}  // namespace interlacer
