#pragma once

/// MortonOrder of knn/spatial_order.h for two clouds on a CUDA device, index by index, with one
/// sort.
///
/// Positions are not checked: NaN lies in the lowest cells, and the order is a permutation whatever
/// they hold. Determinism: equal calls give equal bits. Contract: common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"

namespace interlacer {

/// A cloud and the outputs of its order.
struct MortonCloud {
  const float* positions_m = nullptr;  ///< [n,3]
  std::int64_t n = 0;
  std::int64_t* point_at = nullptr;  ///< [n]: the point at each place
  std::int64_t* place_of = nullptr;  ///< [n]: the place of each point
  /// Optional rows to permute; either all or none are null.
  const float* features = nullptr;       ///< [n,feature_width]
  float* ordered_positions_m = nullptr;  ///< [n,3]
  float* ordered_features = nullptr;     ///< [n,feature_width]
};

std::size_t MortonOrderWorkspaceBytes(std::int64_t first_n, std::int64_t second_n);

/// Both clouds, each of which may be empty, have at most 2^31 - 1 points together;
/// 0 < cell_edge_m.
CudaError LaunchMortonOrder(const MortonCloud& first, const MortonCloud& second, int feature_width,
                            double cell_edge_m, void* workspace_device, CudaStream stream);

}  // namespace interlacer
