#pragma once

/// Assigns the poses of a trajectory to pairs of images.
///
/// The keys of a trajectory count frames, mostly from 0, while names may count from 1, leave
/// numbers out or carry time stamps. Of three readings the one that gives most poses an image is
/// taken: key = number less the smallest number, key = number, key = position among all numbers;
/// earlier ones win ties, but a trajectory whose first key is the first number is read as numbers.
/// Where keys and numbers have no gap, as many of each, and still the first of one and the last of
/// the other would be alone, the first pose goes to the first image. Pure, thread-safe.

#include <map>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "data/importers/frame_pairs.h"

namespace interlacer {

struct PosedPair {
  const FramePair* pair = nullptr;
  Transform world_from_camera;
};

struct PosedPairs {
  std::vector<PosedPair> frames;  ///< by key
  std::string rule;               ///< how keys were read, for the notes
  /// Numbers have gaps and keys were taken as positions: users should check the result.
  bool is_by_position = false;
  /// The first pose went to the first image, though they have other numbers: as above.
  bool is_shifted = false;
};

PosedPairs MatchPoses(const FramePairs& images, const std::map<int, Transform>& world_from_camera);

}  // namespace interlacer
