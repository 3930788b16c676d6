#include "data/importers/pose_keys.h"

#include <array>
#include <utility>

namespace interlacer {
namespace {

enum class KeyRule { kFromSmallest, kNumber, kPosition };

std::string RuleText(KeyRule rule) {
  switch (rule) {
    case KeyRule::kFromSmallest:
      return "number in the names less the smallest";
    case KeyRule::kNumber:
      return "number in the names";
    case KeyRule::kPosition:
      return "position among the images";
  }
  return "";
}

long KeyOf(KeyRule rule, const FramePair& pair, long smallest) {
  switch (rule) {
    case KeyRule::kFromSmallest:
      return pair.number - smallest;
    case KeyRule::kNumber:
      return pair.number;
    case KeyRule::kPosition:
      return pair.position;
  }
  return 0;
}

}  // namespace

PosedPairs MatchPoses(const FramePairs& images, const std::map<int, Transform>& world_from_camera) {
  std::array<KeyRule, 3> rules = {KeyRule::kFromSmallest, KeyRule::kNumber, KeyRule::kPosition};
  const bool starts_with_the_names =
      !world_from_camera.empty() && world_from_camera.begin()->first == images.smallest_number;
  if (starts_with_the_names) std::swap(rules[0], rules[1]);
  PosedPairs best;
  for (const KeyRule rule : rules) {
    std::map<long, const FramePair*> by_key;
    for (const FramePair& pair : images.pairs) {
      by_key.emplace(KeyOf(rule, pair, images.smallest_number), &pair);
    }
    PosedPairs posed{{}, RuleText(rule), rule == KeyRule::kPosition && !images.is_by_order};
    for (const auto& [key, pose] : world_from_camera) {
      const auto pair = by_key.find(key);
      if (pair != by_key.end()) posed.frames.push_back({pair->second, pose});
    }
    if (best.rule.empty() || posed.frames.size() > best.frames.size()) best = std::move(posed);
  }
  return best;
}

}  // namespace interlacer
