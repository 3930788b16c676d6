#include "data/importers/depth_and_poses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "data/depth.h"
#include "data/importers/color_agreement.h"
#include "data/scene_report.h"

namespace interlacer {
namespace {

constexpr std::array<double, 11> kUnitsInUse = {0.01,       1.0 / 256,  0.001,        0.0005,
                                                1.0 / 4000, 1.0 / 5000, 1.0 / 6553.5, 1.0 / 8000,
                                                0.0001,     0.00002,    0.00001};
constexpr int kMaxPairs = 6;
/// Views that look the same way from near each other see the same place in any room.
constexpr double kMaxAngleRad = 0.5, kMaxBaselineM = 0.6;
/// Of the median depth: views that agree lie less than this apart.
constexpr double kAgreeing = 0.02;
/// Views farther apart contradict each other.
constexpr double kContradicting = 0.05;
/// How much better another unit must be, by distances where colours say nothing.
constexpr double kLeastGain = 3;
/// Colours of one place correlate this well, and by so much better with the right unit.
constexpr double kSameColors = 0.6, kLeastColorGain = 0.25;
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

std::optional<double> MedianOrNone(std::vector<double> values) {
  return values.empty() ? std::nullopt : std::optional(Median(std::move(values)));
}

using ViewPairs = std::vector<std::pair<RgbdView, RgbdView>>;

/// How well the views of pairs fit with all depths multiplied by a factor; nothing where too few
/// pixels show the same place.
struct Agreement {
  std::optional<double> distance;     ///< of their surfaces, over the depth
  std::optional<double> correlation;  ///< of their colours
};

Agreement MeasureAgreement(const ViewPairs& pairs, double factor) {
  std::vector<Agreement> of_pairs(pairs.size());
  ParallelFor(std::ssize(pairs), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& [a, b] = pairs[static_cast<std::size_t>(i)];
      of_pairs[static_cast<std::size_t>(i)] = {RelativeDistance(a, b, factor),
                                               ColorCorrelation(a, b, factor)};
    }
  });
  std::vector<double> distances, correlations;
  for (const Agreement& of_pair : of_pairs) {
    if (of_pair.distance) distances.push_back(*of_pair.distance);
    if (of_pair.correlation) correlations.push_back(*of_pair.correlation);
  }
  return {MedianOrNone(std::move(distances)), MedianOrNone(std::move(correlations))};
}

bool FitsBetter(const Agreement& other, const Agreement& own) {
  const double distance = other.distance.value_or(kInfiniteDistance);
  if (!(distance <= kAgreeing)) return false;
  if (other.correlation && own.correlation) {
    return *other.correlation >= kSameColors &&
           *other.correlation >= *own.correlation + kLeastColorGain;
  }
  const double own_distance = own.distance.value_or(0);
  return own_distance > kAgreeing && kLeastGain * distance <= own_distance;
}

/// Scaled far away, any two clouds agree: nothing but rotation is left of the poses.
bool HasBaseline(const ViewPairs& pairs, double factor) {
  std::vector<double> baselines;
  for (const auto& [a, b] : pairs) {
    const double median_m = factor * MedianDepthM(b.depth).value_or(0);
    baselines.push_back(BaselineM(a.camera, b.camera) / std::max(median_m, 1e-9));
  }
  return Median(std::move(baselines)) >= kLeastBaselineShare;
}

struct UnitAgreement {
  double unit_m = 0;
  Agreement agreement;
};

/// The unit in use with which the views fit best, if far better than with their own.
std::optional<UnitAgreement> FindBetterUnit(const ViewPairs& pairs, double unit_m,
                                            const Agreement& own) {
  const auto rank = [](const Agreement& agreement) {
    return std::pair(agreement.correlation.value_or(-1), -*agreement.distance);
  };
  std::optional<UnitAgreement> best;
  for (const double other_m : kUnitsInUse) {
    const double factor = other_m / unit_m;
    if (std::abs(factor - 1) < 0.01 || !HasBaseline(pairs, factor)) continue;
    const Agreement other = MeasureAgreement(pairs, factor);
    if (!FitsBetter(other, own)) continue;
    if (!best || rank(other) > rank(best->agreement)) best = {other_m, other};
  }
  return best;
}

std::string Describe(const Agreement& agreement) {
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

}  // namespace

std::optional<Finding> CompareDepthWithPoses(const EpisodeReader& episode) {
  const EpisodeReader views = episode.AsStaticViews();
  ViewPairs pairs;
  for (const auto& [first, second] : ChoosePairs(views)) {
    auto a = views.ReadView(0, first), b = views.ReadView(0, second);
    if (a.ok() && b.ok()) pairs.emplace_back(*std::move(a), *std::move(b));
  }
  if (pairs.empty()) return std::nullopt;
  const double unit_m = episode.manifest().cameras[0].depth_unit_m;
  const Agreement own = MeasureAgreement(pairs, 1);
  const double distance = own.distance.value_or(0);
  const bool fits = distance <= kAgreeing && own.correlation.value_or(1) >= kSameColors;
  if (fits) return std::nullopt;
  if (const auto better = FindBetterUnit(pairs, unit_m, own)) {
    const std::string unit = NumberText(better->unit_m);
    return Finding{"DEPTH_UNIT_SUSPECT",
                   "with " + NumberText(unit_m) + " m a depth integer the views' surfaces " +
                       Describe(own) + ", with " + unit + " m they " + Describe(better->agreement) +
                       ": is --depth-unit " + unit + " right?",
                   "depth"};
  }
  if (episode.manifest().kind != EpisodeKind::kMovingCamera || distance <= kContradicting) {
    return std::nullopt;
  }
  return Finding{"CALIBRATION_SUSPECT",
                 "surfaces that two frames see " + Describe(own) +
                     ": are the poses world_from_camera with x y z w, and the depths along the "
                     "camera's axis?",
                 "poses"};
}

}  // namespace interlacer
