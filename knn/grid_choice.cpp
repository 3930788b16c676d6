#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "knn/grid_index.h"

namespace interlacer {
namespace {

constexpr std::int64_t kSampleCount = 1024;
constexpr double kTrimmedShare = 0.01;  // of the sample, at either end of an axis
constexpr double kBoxMargin = 0.1;      // of the trimmed extent, at either end
constexpr double kPointsPerCell = 3;    // aimed at in occupied cells
constexpr int kMaxRefinements = 3;
constexpr std::int64_t kMinCells = 64;
constexpr std::int64_t kCellsPerPoint = 16;

/// Trimmed range of an even sample of the cloud, with a margin; cut to the range of the sample.
Box BulkExtent(std::span<const float> positions_m, std::int64_t n) {
  const std::int64_t step = std::max<std::int64_t>(1, n / kSampleCount);
  Box extent;
  std::vector<float> sample;
  for (int axis = 0; axis < 3; ++axis) {
    sample.clear();
    for (std::int64_t i = 0; i < n; i += step) sample.push_back(positions_m[3 * i + axis]);
    std::sort(sample.begin(), sample.end());
    const std::size_t trim = static_cast<std::size_t>(kTrimmedShare * sample.size());
    const double low = sample[trim];
    const double high = sample[sample.size() - 1 - trim];
    const double margin = kBoxMargin * (high - low);
    extent.min_m[axis] = std::max<double>(sample.front(), low - margin);
    extent.max_m[axis] = std::min<double>(sample.back(), high + margin);
  }
  return extent;
}

/// Cells that hold a point. The grid comes by value, so that writing to `seen` cannot change it.
std::int64_t CountOccupied(CellGrid grid, std::span<const float> positions_m,
                           std::vector<char>& seen) {
  seen.assign(static_cast<std::size_t>(grid.cell_count()), 0);
  std::int64_t occupied = 0;
  for (std::size_t c = 0; c < positions_m.size(); c += 3) {
    char& cell = seen[CellOfPoint(grid, &positions_m[c])];
    occupied += cell == 0;
    cell = 1;
  }
  return occupied;
}

}  // namespace

CellGrid GridWithEdge(const Box& box, double edge_m, std::int64_t max_cells) {
  CellGrid grid;
  for (;;) {
    double count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      count *= std::floor((box.max_m[axis] - box.min_m[axis]) / edge_m) + 1;
    }
    if (count <= static_cast<double>(max_cells)) break;
    edge_m *= std::max(1.05, std::cbrt(count / static_cast<double>(max_cells)));
  }
  grid.edge_m = edge_m;
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin_m[axis] = box.min_m[axis];
    grid.cells[axis] = static_cast<std::int32_t>((box.max_m[axis] - box.min_m[axis]) / edge_m) + 1;
  }
  return grid;
}

CellGrid ChooseCellGrid(std::span<const float> positions_m) {
  const std::int64_t n = static_cast<std::int64_t>(positions_m.size() / 3);
  const std::int64_t max_cells = std::max(kMinCells, kCellsPerPoint * n);
  CellGrid grid;
  if (n == 0) return grid;
  const Box extent = BulkExtent(positions_m, n);
  double longest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    longest = std::max(longest, extent.max_m[axis] - extent.min_m[axis]);
  }
  if (!(longest > 0)) {
    for (int axis = 0; axis < 3; ++axis) grid.origin_m[axis] = extent.min_m[axis];
    return grid;
  }
  // Start as if the longest axis were the edge of a filled cube, then shrink the edge as if the
  // points lay on a surface; any other cloud takes a further round.
  double edge_m = longest / std::cbrt(n / kPointsPerCell);
  std::vector<char> seen;
  for (int round = 0;; ++round) {
    grid = GridWithEdge(extent, edge_m, max_cells);
    const double points_per_cell =
        static_cast<double>(n) / static_cast<double>(CountOccupied(grid, positions_m, seen));
    const bool capped = grid.edge_m > edge_m;
    if (capped || round == kMaxRefinements || points_per_cell < 2 * kPointsPerCell) return grid;
    edge_m = grid.edge_m * std::sqrt(kPointsPerCell / points_per_cell);
  }
}

}  // namespace interlacer
