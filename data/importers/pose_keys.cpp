#include "data/importers/pose_keys.h"

#include <cstddef>
#include <cstdlib>
#include <utility>

namespace interlacer {
namespace {

enum class KeyRule { kFromSmallest, kNumber, kPosition, kFromFirstPose };

std::string RuleText(KeyRule rule) {
  switch (rule) {
    case KeyRule::kFromSmallest:
      return "number in the names less the smallest";
    case KeyRule::kNumber:
      return "number in the names";
    case KeyRule::kPosition:
      return "position among the images";
    case KeyRule::kFromFirstPose:
      return "number in the names, the first image having the first pose";
  }
  return "";
}

long KeyOf(KeyRule rule, const FramePair& pair, long smallest, long first_key) {
  switch (rule) {
    case KeyRule::kFromSmallest:
      return pair.number - smallest;
    case KeyRule::kNumber:
      return pair.number;
    case KeyRule::kPosition:
      return pair.position;
    case KeyRule::kFromFirstPose:
      return pair.number - smallest + first_key;
  }
  return 0;
}

/// Keys and numbers without a gap, as many of each: one may count from 1 and the other from 0.
bool MayBeShifted(const FramePairs& images, const std::map<int, Transform>& poses) {
  const std::size_t count = images.pairs.size();
  if (count == 0 || count != poses.size()) return false;
  const long first_key = poses.begin()->first;
  return (first_key == 1 || std::abs(first_key - images.smallest_number) == 1) &&
         images.unpaired.empty() &&
         images.pairs.back().number - images.pairs.front().number + 1 == static_cast<long>(count) &&
         poses.rbegin()->first - poses.begin()->first + 1 == static_cast<long>(count);
}

}  // namespace

PosedPairs MatchPoses(const FramePairs& images, const std::map<int, Transform>& world_from_camera) {
  std::vector<KeyRule> rules = {KeyRule::kFromSmallest, KeyRule::kNumber, KeyRule::kPosition};
  const bool starts_with_the_names =
      !world_from_camera.empty() && world_from_camera.begin()->first == images.smallest_number;
  if (starts_with_the_names) std::swap(rules[0], rules[1]);
  if (MayBeShifted(images, world_from_camera)) rules.push_back(KeyRule::kFromFirstPose);
  const long first_key = world_from_camera.empty() ? 0 : world_from_camera.begin()->first;
  PosedPairs best;
  for (const KeyRule rule : rules) {
    std::map<long, const FramePair*> by_key;
    for (const FramePair& pair : images.pairs) {
      by_key.emplace(KeyOf(rule, pair, images.smallest_number, first_key), &pair);
    }
    PosedPairs posed{{},
                     RuleText(rule),
                     rule == KeyRule::kPosition && !images.is_by_order,
                     rule == KeyRule::kFromFirstPose};
    for (const auto& [key, pose] : world_from_camera) {
      const auto pair = by_key.find(key);
      if (pair != by_key.end()) posed.frames.push_back({pair->second, pose});
    }
    if (best.rule.empty() || posed.frames.size() > best.frames.size()) best = std::move(posed);
  }
  return best;
}

}  // namespace interlacer
