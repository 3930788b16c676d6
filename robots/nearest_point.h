#pragma once

/// The nearest point of a cloud to any point: a k-d tree. Exact up to the rounding of double
/// arithmetic; deterministic, of points equally near any. Thread-safe after construction.

#include <cstddef>
#include <span>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

class NearestPoint {
 public:
  /// positions_m [n,3], finite, n > 0.
  explicit NearestPoint(std::span<const float> positions_m);

  double DistanceM(const Vec3d& query_m) const;
  /// Which of the positions it is.
  std::size_t IndexOf(const Vec3d& query_m) const;

  std::size_t size_bytes() const { return points_.size() * sizeof(Point); }

 private:
  struct Point {
    Vec3d position_m;
    std::size_t index;
  };
  struct Found {
    double sq_dist_m2;
    std::size_t index;
  };
  Found Find(const Vec3d& query_m) const;
  /// Sorts points_[begin, end) so that the middle one splits it along `axis`.
  void Split(std::size_t begin, std::size_t end, int axis);
  void Search(std::size_t begin, std::size_t end, int axis, const Vec3d& query_m,
              Found* best) const;

  std::vector<Point> points_;
};

}  // namespace interlacer
