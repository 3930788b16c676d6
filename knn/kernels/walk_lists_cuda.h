#pragma once

/// Merged walk lists of a neighbour graph and their transpose, CUDA form.
///
/// Same bytes as BuildWalkLists and Transpose (knn/walk_lists.h) for any timing of threads. The
/// number of entries stays on the device, in offsets[n], so that the shapes of a captured graph are
/// fixed: entry arrays have room for kMaxWalkRowSize entries a root. Contract:
/// common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "knn/kernels/walk_rows.h"

namespace interlacer {

/// Entries of a row at most: 1 + 3 + 9 + 27.
inline constexpr std::int64_t kMaxWalkRowSize = 40;

/// Scratch memory of LaunchWalkLists.
std::size_t WalkListsWorkspaceBytes(std::int64_t n);

/// Writes offsets_device [n+1] and entries_device [n * kMaxWalkRowSize] (packed as
/// knn/knn_graph.h says) of the graph, whose neighbours are on the device; 0 <= degree <= 3 and
/// n <= 2^24, otherwise cudaErrorInvalidValue. n = 0 writes the one offset.
CudaError LaunchWalkLists(const WalkGraphView& graph_device, std::int64_t n, void* workspace_device,
                          std::int32_t* offsets_device, std::uint32_t* entries_device,
                          CudaStream stream);

/// Lists by end node, as TransposedLists (knn/knn_graph.h): offsets [n+1], roots and entry_index
/// [n * kMaxWalkRowSize].
struct TransposedWalksDevice {
  std::int32_t* offsets = nullptr;
  std::int32_t* roots = nullptr;
  std::int32_t* entry_index = nullptr;
};

/// Scratch memory of LaunchTransposeWalkLists.
std::size_t TransposeWalkListsWorkspaceBytes(std::int64_t n);

/// Transposes what LaunchWalkLists wrote.
CudaError LaunchTransposeWalkLists(std::int64_t n, const std::int32_t* offsets_device,
                                   const std::uint32_t* entries_device, void* workspace_device,
                                   const TransposedWalksDevice& transposed, CudaStream stream);

}  // namespace interlacer
