#include "evaluation/nearest_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace interlacer {

NearestPoint::NearestPoint(std::span<const float> positions_m) {
  INTERLACER_CHECK(!positions_m.empty() && positions_m.size() % 3 == 0, "no points");
  for (std::size_t i = 0; i < positions_m.size(); i += 3) {
    points_m_.push_back({positions_m[i], positions_m[i + 1], positions_m[i + 2]});
  }
  Split(0, points_m_.size(), 0);
}

double NearestPoint::DistanceM(const Vec3d& query_m) const {
  double sq_dist_m2 = std::numeric_limits<double>::infinity();
  Search(0, points_m_.size(), 0, query_m, &sq_dist_m2);
  return std::sqrt(sq_dist_m2);
}

/// The tree is implicit: the middle of every range is its node, the halves are its subtrees.
void NearestPoint::Split(std::size_t begin, std::size_t end, int axis) {
  if (end - begin <= 1) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const auto first = points_m_.begin();
  std::nth_element(first + static_cast<std::ptrdiff_t>(begin),
                   first + static_cast<std::ptrdiff_t>(middle),
                   first + static_cast<std::ptrdiff_t>(end),
                   [axis](const Vec3d& a, const Vec3d& b) { return a[axis] < b[axis]; });
  Split(begin, middle, (axis + 1) % 3);
  Split(middle + 1, end, (axis + 1) % 3);
}

void NearestPoint::Search(std::size_t begin, std::size_t end, int axis, const Vec3d& query_m,
                          double* sq_dist_m2) const {
  if (begin >= end) return;
  const std::size_t middle = begin + (end - begin) / 2;
  const Vec3d& point = points_m_[middle];
  double sum_m2 = 0;
  for (int a = 0; a < 3; ++a) sum_m2 += (point[a] - query_m[a]) * (point[a] - query_m[a]);
  *sq_dist_m2 = std::min(*sq_dist_m2, sum_m2);
  const double offset_m = query_m[axis] - point[axis];
  const int next = (axis + 1) % 3;
  const bool is_below = offset_m < 0;
  Search(is_below ? begin : middle + 1, is_below ? middle : end, next, query_m, sq_dist_m2);
  // The other side of the splitting plane is visited only if the plane is nearer than the best
  // point.
  if (offset_m * offset_m >= *sq_dist_m2) return;
  Search(is_below ? middle + 1 : begin, is_below ? end : middle, next, query_m, sq_dist_m2);
}

}  // namespace interlacer
