#pragma once

/// The surface points of one link in its own frame, as what touches things.
/// Thread-safe after construction.

#include <cstddef>
#include <span>

#include "common/geometry.h"
#include "robots/nearest_point.h"

namespace interlacer {

class LinkSurface {
 public:
  /// positions_m [n,3], metres in the frame of the link, finite, n > 0.
  explicit LinkSurface(std::span<const float> positions_m);

  /// Of points in the frame of the link; infinitely far where it is not within `within_m`.
  NearestPoint::Found NearestTo(const Vec3d& point_m, double within_m) const;
  /// Whether all of it is farther than `distance_m` from a point.
  bool IsFarther(const Vec3d& point_m, double distance_m) const;
  std::size_t size_bytes() const { return nearest_.size_bytes(); }

 private:
  NearestPoint nearest_;
  Vec3d center_m_{};
  double radius_m_ = 0;  ///< of a sphere around all of it
};

}  // namespace interlacer
