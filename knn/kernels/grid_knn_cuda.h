#pragma once

/// Kernels of the exact neighbour search on a grid of cells, CUDA form.
///
/// Same contract and same bits as knn/kernels/grid_knn.h. Coordinates need not be finite: distances
/// to NaN do not count, and a point with too few neighbours for that reason fills its row with its
/// own index, so that every index lies in the cloud. Contract: common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "common/kernels/host_device.h"
#include "knn/kernels/cell_grid.h"

namespace interlacer {

/// Neighbours a search can hold.
inline constexpr int kMaxCudaNeighbors = 32;

/// Members of one search among a cloud's points: `count` from `begin` on, then `more_count` from
/// `more_begin` on, behind them.
struct PointRanges {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t more_begin = 0;
  std::int64_t more_count = 0;

  INTERLACER_HOST_DEVICE std::int64_t size() const { return count + more_count; }
  INTERLACER_HOST_DEVICE std::int64_t at(std::int64_t i) const {
    return i < count ? begin + i : more_begin + (i - count);
  }
};

/// Scratch memory of LaunchGridKnn for n members.
std::size_t GridKnnWorkspaceBytes(const CellGrid& grid, std::int64_t n);

/// Writes the rows of `members` in neighbors_device [cloud, out_degree] for positions_device
/// [cloud,3]: indices in the cloud of the nearest other members;
/// 1 <= out_degree <= min(members - 1, kMaxCudaNeighbors). Without members it returns at once.
CudaError LaunchGridKnn(const CellGrid& grid, const float* positions_device,
                        const PointRanges& members, int out_degree, void* workspace_device,
                        std::int32_t* neighbors_device, CudaStream stream);

}  // namespace interlacer
