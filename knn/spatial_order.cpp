#include "knn/spatial_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/kernels/morton_code.h"

namespace interlacer {
namespace {

constexpr int kDigitBits = 12;
constexpr std::int64_t kPointsPerChunk = 4096;

MortonCells CellsOf(std::span<const float> positions_m, double cell_edge_m) {
  float low_m[3], high_m[3];
  std::fill_n(low_m, 3, std::numeric_limits<float>::infinity());
  std::fill_n(high_m, 3, -std::numeric_limits<float>::infinity());
  for (std::size_t c = 0; c < positions_m.size(); c += 3) {
    for (int axis = 0; axis < 3; ++axis) {
      low_m[axis] = std::min(low_m[axis], positions_m[c + axis]);
      high_m[axis] = std::max(high_m[axis], positions_m[c + axis]);
    }
  }
  return MortonCellsOf(low_m, high_m, cell_edge_m);
}

struct KeyedPoint {
  std::uint32_t code;
  std::int32_t index;
};

/// Stable sort by code, from the lowest digit to the highest one that any code has.
void SortByCode(std::vector<KeyedPoint>& points) {
  std::uint32_t used_bits = 0;
  for (const KeyedPoint& point : points) used_bits |= point.code;
  std::vector<KeyedPoint> sorted(points.size());
  std::vector<std::uint32_t> place(std::size_t{1} << kDigitBits);
  for (int shift = 0; shift < kMortonCodeBits && used_bits >> shift != 0; shift += kDigitBits) {
    const auto digit = [shift](const KeyedPoint& point) {
      return (point.code >> shift) & ((1u << kDigitBits) - 1);
    };
    std::fill(place.begin(), place.end(), 0);
    for (const KeyedPoint& point : points) ++place[digit(point)];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), 0u);
    for (const KeyedPoint& point : points) sorted[place[digit(point)]++] = point;
    points.swap(sorted);
  }
}

}  // namespace

StatusOr<std::vector<std::int32_t>> MortonOrder(std::span<const float> positions_m,
                                                double cell_edge_m) {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, 1));
  if (!(cell_edge_m > 0)) {
    return Mismatch(reason::ARGUMENT_INVALID, "cell_edge_m", "a positive length",
                    std::to_string(cell_edge_m));
  }
  std::vector<KeyedPoint> points(static_cast<std::size_t>(n));
  const MortonCells cells = CellsOf(positions_m, cell_edge_m);
  ParallelFor(n, kPointsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      points[i] = {MortonCodeOf(&positions_m[3 * i], cells), static_cast<std::int32_t>(i)};
    }
  });
  SortByCode(points);
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  for (std::int64_t place = 0; place < n; ++place) order[place] = points[place].index;
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
