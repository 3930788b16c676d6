#pragma once

/// Distance from any point to the nearest point of a cloud: a k-d tree. Exact up to the rounding of
/// double arithmetic; deterministic. Thread-safe after construction.

#include <span>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

class NearestPoint {
 public:
  /// positions_m [n,3], finite, n > 0.
  explicit NearestPoint(std::span<const float> positions_m);

  double DistanceM(const Vec3d& query_m) const;

 private:
  /// Sorts points_m_[begin, end) so that the middle one splits it along `axis`.
  void Split(std::size_t begin, std::size_t end, int axis);
  void Search(std::size_t begin, std::size_t end, int axis, const Vec3d& query_m,
              double* sq_dist_m2) const;

  std::vector<Vec3d> points_m_;
};

}  // namespace interlacer
