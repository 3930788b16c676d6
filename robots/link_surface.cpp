#include "robots/link_surface.h"

#include <algorithm>

#include "common/transforms.h"

namespace interlacer {

LinkSurface::LinkSurface(std::span<const float> positions_m) : nearest_(positions_m) {
  const std::size_t count = positions_m.size() / 3;
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    center_m_[i % 3] += positions_m[i] / static_cast<double>(count);
  }
  for (std::size_t i = 0; i < positions_m.size(); i += 3) {
    radius_m_ = std::max(
        radius_m_, DistanceM(center_m_, {positions_m[i], positions_m[i + 1], positions_m[i + 2]}));
  }
}

NearestPoint::Found LinkSurface::NearestTo(const Vec3d& point_m, double within_m) const {
  return IsFarther(point_m, within_m) ? NearestPoint::Found()
                                      : nearest_.NearestTo(point_m, within_m);
}

bool LinkSurface::IsFarther(const Vec3d& point_m, double distance_m) const {
  return DistanceM(point_m, center_m_) > radius_m_ + distance_m;
}

}  // namespace interlacer
