#include "render/occupancy_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "render/kernels/occupancy_reach.h"

namespace interlacer {
namespace {

constexpr double kMaxCells = 4e6;
constexpr std::uint16_t kFar = 60000;

/// Least squared number of whole cells between cell i and an occupied cell along one axis:
/// gaps[i] = min_j gaps[j] + max(|i - j| - 1, 0)^2 for |i - j| <= window. Neighbours along the axis
/// lie `stride` apart.
void SpreadAlong(std::vector<std::uint16_t>& gaps, std::int64_t size, std::int64_t stride,
                 int window) {
  const std::vector<std::uint16_t> before = gaps;
  const std::int64_t plane = size * stride;
  const int reach = static_cast<int>(std::min<std::int64_t>(window, size - 1));
  for (std::int64_t base = 0; base < static_cast<std::int64_t>(gaps.size()); base += plane) {
    for (int shift = -reach; shift <= reach; ++shift) {
      const int gap = std::max(std::abs(shift) - 1, 0);
      const std::uint16_t added = static_cast<std::uint16_t>(gap * gap);
      const std::int64_t count = (size - std::abs(shift)) * stride;
      const std::uint16_t* source = before.data() + base + std::max(shift, 0) * stride;
      std::uint16_t* target = gaps.data() + base + std::max(-shift, 0) * stride;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint16_t sum = static_cast<std::uint16_t>(source[i] + added);
        target[i] = sum < target[i] ? sum : target[i];
      }
    }
  }
}

}  // namespace

OccupancyGrid::OccupancyGrid(std::span<const float> positions_m, float radius_m) {
  if (positions_m.empty()) return;
  const double reach_m = static_cast<double>(radius_m) * kReachSlack;
  ChooseCells(positions_m, reach_m);
  const int window = static_cast<int>(reach_m * inverse_cell_m_) + 1;
  const std::vector<std::uint16_t> gaps = SquaredGaps(positions_m, window);
  const double limit = reach_m * inverse_cell_m_ * reach_m * inverse_cell_m_;
  bits_.assign(gaps.size() / 64 + 1, 0);
  for (std::size_t cell = 0; cell < gaps.size(); ++cell) {
    if (gaps[cell] <= limit) bits_[cell >> 6] |= std::uint64_t{1} << (cell & 63);
  }
}

void OccupancyGrid::ChooseCells(std::span<const float> positions_m, double reach_m) {
  std::array<double, 3> high_m{};
  for (int axis = 0; axis < 3; ++axis) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t i = axis; i < positions_m.size(); i += 3) {
      low = std::min(low, static_cast<double>(positions_m[i]));
      high = std::max(high, static_cast<double>(positions_m[i]));
    }
    // A whole cell of margin lies beyond the reach on every side.
    origin_m_[axis] = low - reach_m * (1.0 + 1.0 / kCellsPerRadius);
    high_m[axis] = high + reach_m * (1.0 + 1.0 / kCellsPerRadius);
  }
  const auto cells = [&](double cell_m) {
    double count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      count *= std::floor((high_m[axis] - origin_m_[axis]) / cell_m) + 1;
    }
    return count;
  };
  cell_m_ = reach_m / kCellsPerRadius;
  // Coarser cells stay conservative: gaps count only the whole cells in between.
  while (cells(cell_m_) > kMaxCells) cell_m_ *= 1.25;
  inverse_cell_m_ = 1.0 / cell_m_;
  for (int axis = 0; axis < 3; ++axis) {
    size_[axis] =
        static_cast<std::int64_t>(std::floor((high_m[axis] - origin_m_[axis]) / cell_m_)) + 1;
  }
}

std::vector<std::uint16_t> OccupancyGrid::SquaredGaps(std::span<const float> positions_m,
                                                      int window) const {
  std::vector<std::uint16_t> gaps(size_[0] * size_[1] * size_[2], kFar);
  for (std::size_t i = 0; i < positions_m.size(); i += 3) {
    std::int64_t cell = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const double x = (static_cast<double>(positions_m[i + axis]) - origin_m_[axis]);
      cell = cell * size_[axis] +
             std::clamp<std::int64_t>(static_cast<std::int64_t>(x * inverse_cell_m_), 0,
                                      size_[axis] - 1);
    }
    gaps[cell] = 0;
  }
  // Squared distances separate by axis, so three passes give the distance in space.
  SpreadAlong(gaps, size_[0], 1, window);
  SpreadAlong(gaps, size_[1], size_[0], window);
  SpreadAlong(gaps, size_[2], size_[0] * size_[1], window);
  return gaps;
}

}  // namespace interlacer
