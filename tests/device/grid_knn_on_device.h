#pragma once

/// Runs the CUDA neighbour search on arrays in host memory, for tests.

#include <cstdint>
#include <vector>

#include "knn/kernels/grid_knn_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {

/// neighbors [n, out_degree] of positions_m [n,3].
inline std::vector<std::int32_t> GridNeighborsOnDevice(const CellGrid& grid,
                                                       const std::vector<float>& positions_m,
                                                       int out_degree) {
  const auto n = static_cast<std::int64_t>(positions_m.size() / 3);
  const CheckedStream stream;
  const DeviceArray<float> positions(stream, positions_m);
  const DeviceArray<std::int32_t> neighbors(stream, n * out_degree);
  const DeviceArray<char> workspace(stream,
                                    static_cast<std::int64_t>(GridKnnWorkspaceBytes(grid, n)));
  RequireCuda(LaunchGridKnn(grid, positions.get(), {0, n, n, 0}, out_degree, workspace.get(),
                            neighbors.get(), stream.get()),
              "LaunchGridKnn");
  return neighbors.Read();
}

}  // namespace interlacer::testing
