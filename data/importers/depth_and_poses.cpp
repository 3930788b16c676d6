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
#include "data/importers/view_pairs.h"

namespace interlacer {
namespace {

constexpr std::array<double, 11> kUnitsInUse = {0.01,       1.0 / 256,  0.001,        0.0005,
                                                1.0 / 4000, 1.0 / 5000, 1.0 / 6553.5, 1.0 / 8000,
                                                0.0001,     0.00002,    0.00001};
constexpr double kMaxBaselineM = 0.6;
/// Of the median depth: views that agree lie less than this apart.
constexpr double kAgreeing = 0.02;
/// Views farther apart contradict each other.
constexpr double kContradicting = 0.05;
/// How much better another unit must be, by distances where colours say nothing.
constexpr double kLeastGain = 3;
/// Colours of one place correlate this well, by so much better with the right unit, and by so much
/// without a mistake.
constexpr double kSameColors = 0.6, kLeastColorGain = 0.25, kLeastMendedGain = 0.15;
/// Baselines below this share of the median depth tell nothing: scaled far away, any two clouds
/// agree, for nothing but rotation is left of the poses.
constexpr double kLeastBaseline = 0.02;
/// Gloss and shade change with the direction: colours of real recordings correlate by 0.6 and more
/// up to this share of the depth apart, and by as little as 0.2 farther apart.
constexpr double kNearBaseline = 0.35, kOtherColors = 0.4;
/// Of the median depth between consecutive frames: a camera that moves so far sees another place.
constexpr double kMostLeap = 0.5;

constexpr double kInfiniteDistance = std::numeric_limits<double>::infinity();

bool AgreesInSpace(const Agreement& agreement) {
  return agreement.baseline >= kLeastBaseline &&
         agreement.distance.value_or(kInfiniteDistance) <= kAgreeing;
}

bool HasSameColors(const Agreement& other, const Agreement& own, double gain) {
  return *other.correlation >= kSameColors &&
         *other.correlation >= own.correlation.value_or(-1) + gain;
}

bool FitsBetter(const Agreement& other, const Agreement& own) {
  if (!AgreesInSpace(other)) return false;
  if (other.correlation && own.correlation) return HasSameColors(other, own, kLeastColorGain);
  const double own_distance = own.distance.value_or(0);
  return own_distance > kAgreeing && kLeastGain * *other.distance <= own_distance;
}

/// By colours alone: a plane fits itself with many a wrong pose.
bool IsMended(const Agreement& other, const Agreement& own) {
  return AgreesInSpace(other) && other.correlation && HasSameColors(other, own, kLeastMendedGain);
}

bool RanksAbove(const Agreement& a, const Agreement& b) {
  const auto rank = [](const Agreement& agreement) {
    return std::pair(agreement.correlation.value_or(-1), -*agreement.distance);
  };
  return rank(a) > rank(b);
}

ViewChange WithDepthFactor(double factor) {
  return [factor](RgbdView* view) {
    for (float& depth_m : view->depth.pixels_m) depth_m *= static_cast<float>(factor);
  };
}

/// Poses that are so many times too far apart look like depths of too small a unit.
std::string OrPoses(double factor) {
  for (const double times : {10.0, 100.0, 1000.0}) {
    const std::string text = NumberText(times);
    if (std::abs(factor / times - 1) < 0.01) {
      return ", or are the poses " + text + " times too far apart";
    }
    if (std::abs(factor * times - 1) < 0.01) {
      return ", or are the poses " + text + " times too close together";
    }
  }
  return "";
}

/// The unit in use with which the views fit best, if far better than with their own.
std::optional<Finding> FindBetterUnit(const ViewPairs& pairs, double unit_m, const Agreement& own) {
  std::optional<std::pair<double, Agreement>> best;
  for (const double other_m : kUnitsInUse) {
    const double factor = other_m / unit_m;
    if (std::abs(factor - 1) < 0.01 || own.baseline < kLeastBaseline * factor) continue;
    const Agreement other = pairs.Measure(WithDepthFactor(factor));
    if (!FitsBetter(other, own)) continue;
    if (!best || RanksAbove(other, best->second)) best = {other_m, other};
  }
  if (!best) return std::nullopt;
  const std::string unit = NumberText(best->first);
  return Finding{"DEPTH_UNIT_SUSPECT",
                 "with " + NumberText(unit_m) + " m a depth integer the views' surfaces " +
                     AgreementText(own) + ", with " + unit + " m they " +
                     AgreementText(best->second) + ": is --depth-unit " + unit + " right" +
                     OrPoses(best->first / unit_m) + "?",
                 "depth"};
}

/// The mistake without which the views fit best, if they do. Other poses have other pairs.
std::optional<Finding> FindMistake(const EpisodeReader& views, const ViewPairs& pairs,
                                   const Agreement& own, std::span<const SourceMistake> mistakes) {
  const SourceMistake* found = nullptr;
  Agreement best;
  for (const SourceMistake& mistake : mistakes) {
    PairIndices indices = ChoosePairs(views, kMaxBaselineM, mistake.mend);
    const Agreement other = indices == pairs.indices()
                                ? pairs.Measure(mistake.mend)
                                : ViewPairs(views, std::move(indices)).Measure(mistake.mend);
    if (!IsMended(other, own) || (found != nullptr && !RanksAbove(other, best))) continue;
    found = &mistake;
    best = other;
  }
  if (found == nullptr) return std::nullopt;
  return Finding{"CALIBRATION_SUSPECT",
                 "surfaces that two views see " + AgreementText(own) + ", " + found->without +
                     " they " + AgreementText(best) + ": " + found->question,
                 "poses"};
}

/// The median way of the camera that moves farthest between two frames.
double MedianLeapM(const EpisodeReader& episode) {
  double farthest_m = 0;
  for (int camera = 0; camera < episode.camera_count(); ++camera) {
    std::vector<double> leaps_m;
    for (int step = 1; step < episode.step_count(); ++step) {
      leaps_m.push_back(
          DistanceM(episode.CameraAt(step - 1, camera).world_from_camera.translation_m,
                    episode.CameraAt(step, camera).world_from_camera.translation_m));
    }
    std::sort(leaps_m.begin(), leaps_m.end());
    if (!leaps_m.empty()) farthest_m = std::max(farthest_m, leaps_m[leaps_m.size() / 2]);
  }
  return farthest_m;
}

std::optional<Finding> FindLeaps(const EpisodeReader& episode) {
  const auto depth = episode.ReadDepth(0, 0);
  const double median_m = depth.ok() ? MedianDepthM(*depth).value_or(0) : 0;
  const double leap_m = MedianLeapM(episode);
  if (!(median_m > 0) || leap_m <= kMostLeap * median_m) return std::nullopt;
  const auto rounded = [](double value) { return NumberText(std::round(100 * value) / 100); };
  return Finding{"CALIBRATION_SUSPECT",
                 "consecutive frames lie " + rounded(leap_m) + " m apart, " +
                     rounded(leap_m / median_m) +
                     " times the median depth, and none can be compared: are the poses in metres?",
                 "poses"};
}

/// Surfaces of one plane fit with many wrong poses; its colours do not. Views from near decide.
std::optional<Finding> FindOtherColors(const EpisodeReader& views) {
  const auto depth = views.ReadDepth(0, 0);
  const double median_m = depth.ok() ? MedianDepthM(*depth).value_or(0) : 0;
  const Agreement near = ViewPairs(views, ChoosePairs(views, kNearBaseline * median_m)).Measure();
  if (!AgreesInSpace(near) || near.correlation.value_or(1) >= kOtherColors) return std::nullopt;
  return Finding{
      "CALIBRATION_SUSPECT",
      "surfaces that two views see " + AgreementText(near) +
          ", where 0.6 and more is usual: do colour and depth show the same pixels, neither turned "
          "over, with the intrinsics of this camera, and are the poses those of cameras with y "
          "down and z forward (OpenGL's have y up and z backward)?",
      "poses"};
}

}  // namespace

std::optional<Finding> CompareDepthWithPoses(const EpisodeReader& episode,
                                             std::span<const SourceMistake> mistakes,
                                             bool is_depth_unit_fixed) {
  const EpisodeReader views = episode.AsStaticViews();
  const ViewPairs pairs(views, ChoosePairs(views, kMaxBaselineM));
  const Agreement own = pairs.Measure();
  const double distance = own.distance.value_or(0);
  if (!pairs.empty() && distance <= kAgreeing && own.correlation.value_or(1) >= kSameColors) {
    return std::nullopt;
  }
  if (!pairs.empty() && !is_depth_unit_fixed) {
    const double unit_m = episode.manifest().cameras[0].depth_unit_m;
    if (auto unit = FindBetterUnit(pairs, unit_m, own)) return unit;
  }
  if (auto mistake = FindMistake(views, pairs, own, mistakes)) return mistake;
  if (episode.manifest().kind == EpisodeKind::kMovingCamera) {
    if (pairs.empty()) return FindLeaps(episode);
    if (distance > kContradicting) {
      return Finding{"CALIBRATION_SUSPECT",
                     "surfaces that two frames see " + AgreementText(own) +
                         ": are the poses world_from_camera with x y z w, and the depths along the "
                         "camera's axis?",
                     "poses"};
    }
  }
  return FindOtherColors(views);
}

}  // namespace interlacer
