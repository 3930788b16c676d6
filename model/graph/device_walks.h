#pragma once

/// Neighbour graphs and walk lists of tokens on a CUDA device, built there.
///
/// Same graphs and exact lists as the host's (knn/knn_index.h, knn/walk_lists.h); loads of sampled
/// walks (model/graph/walk_sampler.h) agree up to the rounding of edge weights. Shapes depend
/// on the number of tokens alone and nothing waits for the device, so that a step can be captured.
/// Errors: StatusException ARGUMENT_INVALID, DEVICE_LOST. Threads: pure functions but for a cache
/// of constants, which is locked.

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "common/geometry.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "model/config.h"
#include "model/ops/walk_mask.h"

namespace interlacer {

/// [n, min(k, n-1)] int32 nearest other tokens of positions_m [n,3]. `workspace` holds most of
/// them: it shapes the search grid, and with it the time, not the result.
torch::Tensor NearestOnDevice(const torch::Tensor& positions_m, int k, const Box& workspace);
/// The same among `members`, more of them than `neighbors` [n,k] has columns; writes their rows.
void WriteNearestOnDevice(const torch::Tensor& positions_m, const PointRanges& members,
                          const Box& workspace, const torch::Tensor& neighbors);

/// Of every walk of up to three hops; at most three neighbours [n,degree], an edge weighs 1/degree.
/// Tiles serve attention without gradients over tokens whose neighbours are near in memory.
std::shared_ptr<const WalkMask> ExactWalksOnDevice(const torch::Tensor& neighbors,
                                                   bool with_transpose, bool with_tiles);

/// The same over edges with weights: `degree` neighbours at each token have few enough walks.
bool CanEnumerateOnDevice(std::int64_t degree);
std::shared_ptr<const WalkMask> WeightedWalksOnDevice(const InterlacerConfig& config,
                                                      const torch::Tensor& neighbors,
                                                      const torch::Tensor& positions_m,
                                                      bool with_transpose);

/// Whether the samplers' kernel takes the configuration.
bool CanSampleOnDevice(const LocalLayerConfig& local);
std::shared_ptr<const WalkMask> SampledWalksOnDevice(const InterlacerConfig& config,
                                                     const torch::Tensor& neighbors,
                                                     const torch::Tensor& positions_m,
                                                     std::uint64_t seed, bool with_transpose);

}  // namespace interlacer
