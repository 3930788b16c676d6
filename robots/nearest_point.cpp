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

NearestPoint::Found NearestPoint::NearestTo(const Vec3d& query_m, double within_m) const {
  double best_m2 = within_m * within_m;
  const Point* best = nullptr;
  Search(0, points_.size(), 0, query_m, &best_m2, &best);
  return best == nullptr ? Found() : Found{std::sqrt(best_m2), best->position_m, best->index};
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
                          double* best_m2, const Point** best) const {
  if (begin >= end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const Vec3d& point_m = points_[middle].position_m;
  double sum_m2 = 0;
  for (int a = 0; a < 3; ++a) sum_m2 += (point_m[a] - query_m[a]) * (point_m[a] - query_m[a]);
  if (sum_m2 < *best_m2) {
    *best_m2 = sum_m2;
    *best = &points_[middle];
  }
  const double offset_m = query_m[axis] - point_m[axis];
  const int next = (axis + 1) % 3;
  const bool is_below = offset_m < 0;
  Search(is_below ? begin : middle + 1, is_below ? middle : end, next, query_m, best_m2, best);
  // The other side of the splitting plane is visited only if the plane is nearer than the best
  // point.
  if (offset_m * offset_m >= *best_m2) return;
  Search(is_below ? middle + 1 : begin, is_below ? end : middle, next, query_m, best_m2, best);
}

}  // namespace interlacer
