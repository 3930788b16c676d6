#pragma once

/// Bit grid over space that marks the cells which may hold a point within `radius_m` of a particle.
///
/// Conservative: a clear bit proves that no particle is that near, a set bit proves nothing. Cells
/// are radius/8 wide unless that needs more than 4 million of them. Immutable, thread-safe.
///   positions_m [n,3] float32, world frame, finite

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

class OccupancyGrid {
 public:
  OccupancyGrid(std::span<const float> positions_m, float radius_m);

  bool MayBeNear(const float* point_m) const {
    std::int64_t cell = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const double x = (static_cast<double>(point_m[axis]) - origin_m_[axis]) * inverse_cell_m_;
      if (!(x >= 0 && x < static_cast<double>(size_[axis]))) return false;
      cell = cell * size_[axis] + static_cast<std::int64_t>(x);
    }
    return (bits_[cell >> 6] >> (cell & 63)) & 1;
  }

 private:
  void ChooseCells(std::span<const float> positions_m, double reach_m);
  std::vector<std::uint16_t> SquaredGaps(std::span<const float> positions_m, int window) const;

  std::array<double, 3> origin_m_{};
  std::array<std::int64_t, 3> size_{};
  double cell_m_ = 1;
  double inverse_cell_m_ = 1;
  std::vector<std::uint64_t> bits_;  ///< x fastest
};

}  // namespace interlacer
