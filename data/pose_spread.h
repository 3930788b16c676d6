#pragma once

/// How far poses lie apart, without comparing each with each.
///
/// Pure values; thread-safe as such.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

/// How far a pose may be from another one to be near it.
struct PoseLimits {
  double distance_m = 0;
  double turn_rad = 0;
};

/// Between directions, whatever the sign of a quaternion.
double TurnRad(const Transform& a, const Transform& b);
bool IsNear(const Transform& a, const Transform& b, const PoseLimits& limits);

/// Poses of which none is near an earlier one. A pose is looked up among those of its surroundings,
/// in a grid of the limit.
class DistinctPoses {
 public:
  explicit DistinctPoses(const PoseLimits& limits) : limits_(limits) {}

  void Add(const Transform& pose);
  const std::vector<Transform>& poses() const { return poses_; }

 private:
  using Cell = std::array<std::int64_t, 3>;
  bool HasNear(const Transform& pose, const Cell& cell) const;

  PoseLimits limits_;
  std::vector<Transform> poses_;
  std::map<Cell, std::vector<std::size_t>> cells_;
};

struct PoseSpread {
  double distance_m = 0;  ///< between the two farthest apart
  double turn_rad = 0;
};

/// Exact for up to kMostCompared poses. Of more, those are compared that lie outermost in 13
/// directions of space and of turning from the first: the distance is then at most 12 % too small,
/// the turn about as much while turns are small against a half.
inline constexpr std::size_t kMostCompared = 256;
PoseSpread SpreadOf(const std::vector<Transform>& poses);

struct TimedPose {
  std::int64_t time_ns = 0;
  Transform pose;
};

/// Of each place that a session sees, so many are remembered.
inline constexpr std::size_t kMostRemembered = 64;

/// The two poses farthest apart, in units of `far`, of those that are not near by `far` and at most
/// `session_ns` apart; indices, the earlier first. Poses near by `same` count as one, and of a
/// session with more than kMostRemembered the later ones are compared with the first alone: time
/// grows with the number of poses.
std::optional<std::pair<std::size_t, std::size_t>> FarthestWithin(
    const std::vector<TimedPose>& poses, std::int64_t session_ns, const PoseLimits& far,
    const PoseLimits& same);

}  // namespace interlacer
