#include "knn/spatial_order.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "knn/cloud_checks.h"

namespace interlacer {
namespace {

constexpr double kLastCell = (1 << 21) - 1;

/// Bits of a 21-bit number, two zero bits after each.
std::uint64_t Spread(std::uint64_t x) {
  x = (x | (x << 32)) & 0x001F00000000FFFFull;
  x = (x | (x << 16)) & 0x001F0000FF0000FFull;
  x = (x | (x << 8)) & 0x100F00F00F00F00Full;
  x = (x | (x << 4)) & 0x10C30C30C30C30C3ull;
  x = (x | (x << 2)) & 0x1249249249249249ull;
  return x;
}

}  // namespace

StatusOr<std::vector<std::int32_t>> MortonOrder(std::span<const float> positions_m,
                                                double cell_edge_m) {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, 1));
  if (!(cell_edge_m > 0)) {
    return Mismatch(reason::ARGUMENT_INVALID, "cell_edge_m", "a positive length",
                    std::to_string(cell_edge_m));
  }
  double low_m[3] = {0, 0, 0};
  for (int axis = 0; axis < 3 && n > 0; ++axis) {
    low_m[axis] = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < n; ++i) {
      low_m[axis] = std::min<double>(low_m[axis], positions_m[3 * i + axis]);
    }
  }
  std::vector<std::pair<std::uint64_t, std::int32_t>> keyed(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double cell = (positions_m[3 * i + axis] - low_m[axis]) / cell_edge_m;
      code |= Spread(static_cast<std::uint64_t>(std::min(cell, kLastCell))) << axis;
    }
    keyed[i] = {code, static_cast<std::int32_t>(i)};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  for (std::int64_t place = 0; place < n; ++place) order[place] = keyed[place].second;
  return order;
}

std::vector<std::int32_t> InverseOrder(std::span<const std::int32_t> order) {
  std::vector<std::int32_t> place_of(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    place_of[order[place]] = static_cast<std::int32_t>(place);
  }
  return place_of;
}

}  // namespace interlacer
