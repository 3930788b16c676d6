#pragma once

/// CUDA form of the walk samplers (model/graph/walk_sampler.h); its rows have the form of
/// WeightedWalkLists (knn/knn_graph.h) and equal those of the CPU form bit by bit.
///
/// Pointers named *_device live on the current device, as do those of WalkEdges. The number of
/// entries stays on the device, in offsets[n]. Contract: common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/walk_ensemble.h"

namespace interlacer {

inline constexpr int kMaxCudaWalks = 32;
inline constexpr int kCudaWalkHops = 3;

/// Largest number of entries of a row: the root, and every hop of every walk.
inline std::int64_t MaxSampledRowSize(int walk_count) {
  return 1 + std::int64_t{kCudaWalkHops} * walk_count;
}

struct SampledWalksDevice {
  std::int32_t* offsets = nullptr;  ///< [n+1]
  std::int32_t* nodes = nullptr;    ///< [n * MaxSampledRowSize]
  float* loads = nullptr;           ///< [n * MaxSampledRowSize, 4]
};

std::size_t SampleWalksWorkspaceBytes(std::int64_t n);

/// The options must have three hops and 1 to kMaxCudaWalks walks; n = 0 writes the single offset.
CudaError LaunchSampleWalks(const WalkEdges& edges_device, std::int64_t n,
                            const WalkSamplerOptions& options, void* workspace_device,
                            const SampledWalksDevice& walks, CudaStream stream);

}  // namespace interlacer
