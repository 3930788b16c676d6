#include "data/pose_spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "common/transforms.h"

namespace interlacer {
namespace {

/// Half of the neighbours of a cell: with their opposites they look everywhere.
std::vector<Vec3d> Directions() {
  std::vector<Vec3d> directions;
  for (int i = 14; i < 27; ++i) {
    const Vec3d d = {i / 9 - 1.0, i / 3 % 3 - 1.0, i % 3 - 1.0};
    const double length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    directions.push_back({d[0] / length, d[1] / length, d[2] / length});
  }
  return directions;
}

/// Axis times angle of the turn from a to b.
Vec3d TurnFrom(const Transform& a, const Transform& b) {
  const std::array<double, 4> q = Compose(Inverse(a), b).rotation_xyzw;
  const double sine = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  if (sine == 0) return {};
  const double angle = 2 * std::atan2(sine, std::abs(q[3]));
  const double scale = (q[3] < 0 ? -angle : angle) / sine;
  return {scale * q[0], scale * q[1], scale * q[2]};
}

/// The outermost points in each direction.
void AddOutermost(const std::vector<Vec3d>& points, std::set<std::size_t>* chosen) {
  for (const Vec3d& d : Directions()) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    std::size_t lowest = 0, highest = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double along = d[0] * points[i][0] + d[1] * points[i][1] + d[2] * points[i][2];
      if (along < low) lowest = i;
      if (along > high) highest = i;
      low = std::min(low, along);
      high = std::max(high, along);
    }
    chosen->insert({lowest, highest});
  }
}

std::vector<Transform> Outermost(const std::vector<Transform>& poses) {
  std::vector<Vec3d> places, turns;
  for (const Transform& pose : poses) {
    places.push_back(pose.translation_m);
    turns.push_back(TurnFrom(poses.front(), pose));
  }
  std::set<std::size_t> chosen;
  AddOutermost(places, &chosen);
  AddOutermost(turns, &chosen);
  std::vector<Transform> outermost;
  for (const std::size_t i : chosen) outermost.push_back(poses[i]);
  return outermost;
}

}  // namespace

double TurnRad(const Transform& a, const Transform& b) {
  double dot = 0;
  for (std::size_t i = 0; i < 4; ++i) dot += a.rotation_xyzw[i] * b.rotation_xyzw[i];
  return 2 * std::acos(std::min(1.0, std::abs(dot)));
}

bool IsNear(const Transform& a, const Transform& b, const PoseLimits& limits) {
  return DistanceM(a.translation_m, b.translation_m) <= limits.distance_m &&
         TurnRad(a, b) <= limits.turn_rad;
}

bool DistinctPoses::HasNear(const Transform& pose, const Cell& cell) const {
  for (int i = 0; i < 27; ++i) {
    const auto found =
        cells_.find({cell[0] + i / 9 - 1, cell[1] + i / 3 % 3 - 1, cell[2] + i % 3 - 1});
    if (found == cells_.end()) continue;
    for (const std::size_t known : found->second) {
      if (IsNear(poses_[known], pose, limits_)) return true;
    }
  }
  return false;
}

void DistinctPoses::Add(const Transform& pose) {
  Cell cell{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    cell[axis] =
        static_cast<std::int64_t>(std::floor(pose.translation_m[axis] / limits_.distance_m));
  }
  if (HasNear(pose, cell)) return;
  cells_[cell].push_back(poses_.size());
  poses_.push_back(pose);
}

PoseSpread SpreadOf(const std::vector<Transform>& poses) {
  const std::vector<Transform> outermost =
      poses.size() > kMostCompared ? Outermost(poses) : std::vector<Transform>();
  const std::vector<Transform>& compared = outermost.empty() ? poses : outermost;
  PoseSpread spread;
  for (std::size_t a = 0; a < compared.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      spread.distance_m = std::max(spread.distance_m,
                                   DistanceM(compared[a].translation_m, compared[b].translation_m));
      spread.turn_rad = std::max(spread.turn_rad, TurnRad(compared[a], compared[b]));
    }
  }
  return spread;
}

std::optional<std::pair<std::size_t, std::size_t>> FarthestWithin(
    const std::vector<TimedPose>& poses, std::int64_t session_ns, const PoseLimits& far,
    const PoseLimits& same) {
  std::vector<std::size_t> by_time(poses.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) {
    return poses[a].time_ns < poses[b].time_ns;
  });
  // The first pose says where a place is, so that it does not creep along; the newest is compared:
  // if any of the place is of the session, it is.
  struct Place {
    std::size_t first = 0, newest = 0;
  };
  std::vector<Place> places;
  std::optional<std::pair<std::size_t, std::size_t>> farthest;
  double most = 0;
  for (const std::size_t now : by_time) {
    const Transform& y = poses[now].pose;
    std::erase_if(places, [&](const Place& place) {
      return poses[now].time_ns - poses[place.newest].time_ns > session_ns;
    });
    Place* known = nullptr;
    for (Place& place : places) {
      if (known == nullptr && IsNear(poses[place.first].pose, y, same)) known = &place;
      const Transform& x = poses[place.newest].pose;
      if (IsNear(x, y, far)) continue;
      const double apart = std::max(DistanceM(x.translation_m, y.translation_m) / far.distance_m,
                                    TurnRad(x, y) / far.turn_rad);
      if (apart <= most) continue;
      most = apart;
      farthest = std::pair(place.newest, now);
    }
    if (known != nullptr) {
      known->newest = now;
    } else if (places.size() < kMostRemembered) {
      places.push_back({now, now});
    }
  }
  return farthest;
}

}  // namespace interlacer
