#include "robots/nearest_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace interlacer {

NearestPoint::NearestPoint(std::span<const float> positions_m) {
  INTERLACER_CHECK(!positions_m.empty() && positions_m.size() % 3 == 0, "no points");
  for (std::size_t i = 0; i < positions_m.size(); i += 3) {
    points_.push_back({{positions_m[i], positions_m[i + 1], positions_m[i + 2]}, i / 3});
  }
  Split(0, points_.size(), 0);
}

double NearestPoint::DistanceM(const Vec3d& query_m) const {
  return std::sqrt(Find(query_m).sq_dist_m2);
}

std::size_t NearestPoint::IndexOf(const Vec3d& query_m) const { return Find(query_m).index; }

NearestPoint::Found NearestPoint::Find(const Vec3d& query_m) const {
  Found best{std::numeric_limits<double>::infinity(), 0};
  Search(0, points_.size(), 0, query_m, &best);
  return best;
}

/// The tree is implicit: the middle of every range is its node, the halves are its subtrees.
void NearestPoint::Split(std::size_t begin, std::size_t end, int axis) {
  if (end - begin <= 1) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const auto first = points_.begin();
  std::nth_element(
      first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(middle),
      first + static_cast<std::ptrdiff_t>(end),
      [axis](const Point& a, const Point& b) { return a.position_m[axis] < b.position_m[axis]; });
  Split(begin, middle, (axis + 1) % 3);
  Split(middle + 1, end, (axis + 1) % 3);
}

void NearestPoint::Search(std::size_t begin, std::size_t end, int axis, const Vec3d& query_m,
                          Found* best) const {
  if (begin >= end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const Vec3d& point = points_[middle].position_m;
  double sum_m2 = 0;
  for (int a = 0; a < 3; ++a) sum_m2 += (point[a] - query_m[a]) * (point[a] - query_m[a]);
  if (sum_m2 < best->sq_dist_m2) *best = {sum_m2, points_[middle].index};
  const double offset_m = query_m[axis] - point[axis];
  const int next = (axis + 1) % 3;
  const bool is_below = offset_m < 0;
  Search(is_below ? begin : middle + 1, is_below ? middle : end, next, query_m, best);
  // The other side of the splitting plane is visited only if the plane is nearer than the best
  // point.
  if (offset_m * offset_m >= best->sq_dist_m2) return;
  Search(is_below ? middle + 1 : begin, is_below ? end : middle, next, query_m, best);
}

}  // namespace interlacer
