#pragma once

/// The nearest point of a cloud to any point: a k-d tree. Exact up to the rounding of double
/// arithmetic; deterministic, of points equally near any. Thread-safe after construction.

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

class NearestPoint {
 public:
  /// positions_m [n,3], finite, n > 0.
  explicit NearestPoint(std::span<const float> positions_m);

  double DistanceM(const Vec3d& query_m) const { return NearestTo(query_m).distance_m; }
  struct Found {
    double distance_m = std::numeric_limits<double>::infinity();
    Vec3d position_m{};
    std::size_t index = 0;  ///< among the positions
  };
  /// Infinitely far where none is nearer than `within_m`, by which the search is the shorter.
  Found NearestTo(const Vec3d& query_m,
                  double within_m = std::numeric_limits<double>::infinity()) const;

  std::size_t size_bytes() const { return points_.size() * sizeof(Point); }

 private:
  struct Point {
    Vec3d position_m;
    std::size_t index;
  };
  /// Sorts points_[begin, end) so that the middle one splits it along `axis`.
  void Split(std::size_t begin, std::size_t end, int axis);
  /// `best_m2` and `best`: the least squared distance so far, and whose it is.
  void Search(std::size_t begin, std::size_t end, int axis, const Vec3d& query_m, double* best_m2,
              const Point** best) const;

  std::vector<Point> points_;
};

}  // namespace interlacer
