#pragma once

/// Kernels of the exact neighbour search on a grid of cells, CUDA form.
///
/// Same contract and same bits as knn/kernels/grid_knn.h. Coordinates need not be finite: distances
/// to NaN do not count, and a point with too few neighbours for that reason fills its row with its
/// own index, so that every index lies in the cloud. Pointers named *_device live on the current
/// device; a stream is an opaque cudaStream_t. Functions that return int return a cudaError_t, 0
/// being success. No kernel allocates; nothing runs on the default stream.

#include <cstddef>
#include <cstdint>

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

/// Writes neighbors_device [n, out_degree] for positions_device [n,3];
/// 1 <= out_degree <= min(n - 1, kMaxCudaNeighbors). n = 0 returns at once. Does not wait.
int LaunchGridKnn(const CellGrid& grid, const float* positions_device, std::int64_t n,
                  int out_degree, void* workspace_device, std::int32_t* neighbors_device,
                  void* stream);
/// Searches among `members` alone: only their rows are written, indices are those of the whole
/// cloud.
int LaunchGridKnn(const CellGrid& grid, const float* positions_device, const PointRanges& members,
                  int out_degree, void* workspace_device, std::int32_t* neighbors_device,
                  void* stream);

/// Number of usable CUDA devices; 0 without a driver.
int CudaDeviceCount();

const char* CudaErrorText(int error);

}  // namespace interlacer
