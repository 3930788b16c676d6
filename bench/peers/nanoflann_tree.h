#pragma once

/// A nanoflann tree over points [n,3]; include only where the library's header is installed.

#include <cstddef>
#include <nanoflann.hpp>
#include <span>

namespace interlacer::bench {

struct PointsView {
  std::span<const float> positions_m;

  std::size_t kdtree_get_point_count() const { return positions_m.size() / 3; }
  float kdtree_get_pt(std::size_t point, std::size_t axis) const {
    return positions_m[3 * point + axis];
  }
  template <typename Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

using NanoflannTree =
    nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, PointsView>, PointsView,
                                        3, std::uint32_t>;

/// The fastest of the leaf sizes tried on our clouds (5, 10, 16, 32).
inline nanoflann::KDTreeSingleIndexAdaptorParams NanoflannParams() {
  return nanoflann::KDTreeSingleIndexAdaptorParams(10);
}

}  // namespace interlacer::bench
