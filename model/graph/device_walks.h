#pragma once

/// Builds neighbour graphs and walk lists of tokens on a CUDA device.
///
/// Graphs and exact lists equal the host's (knn/knn_index.h, knn/walk_lists.h); loads of sampled
/// walks (model/graph/walk_sampler.h) agree up to the rounding of edge weights. Shapes depend on
/// the number of tokens alone and nothing waits for the device, so that a step can be recorded.
/// Errors: StatusException ARGUMENT_INVALID, DEVICE_LOST. Threads: pure functions except for a
/// cache of constants, which is locked.

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "common/geometry.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "model/config.h"
#include "model/ops/walk_mask.h"

namespace interlacer {

struct CudaBackend;

/// The nearest other tokens [n, min(k, n-1)] int32 of positions_m [n,3]. `workspace`, which holds
/// most of them, shapes the search grid and so affects the time, not the result.
torch::Tensor NearestOnDevice(const CudaBackend& cuda, const torch::Tensor& positions_m, int k,
                              const Box& workspace);
/// Nearest tokens among `members` only; writes their rows of `neighbors` [n,k]. There must be more
/// than k members.
void WriteNearestOnDevice(const CudaBackend& cuda, const torch::Tensor& positions_m,
                          const PointRanges& members, const Box& workspace,
                          const torch::Tensor& neighbors);

/// WalkCodeLoads (knn/walk_lists.h) on the device of `like`, cached for each device, because a copy
/// waits: the loads of ExactWalksOnDevice.
torch::Tensor CodeLoads(int out_degree, const torch::Tensor& like);

/// Lists of all walks of up to three hops; `neighbors` [n,degree] has at most three, an edge weighs
/// 1/degree.
std::shared_ptr<const WalkMask> ExactWalksOnDevice(const CudaBackend& cuda,
                                                   const torch::Tensor& neighbors,
                                                   bool with_transpose);

/// All walks over weighted edges; CheckDeviceGraph (model/device_limits.h) says whether they are
/// few enough to enumerate.
std::shared_ptr<const WalkMask> WeightedWalksOnDevice(const CudaBackend& cuda,
                                                      const InterlacerConfig& config,
                                                      const torch::Tensor& neighbors,
                                                      const torch::Tensor& positions_m,
                                                      bool with_transpose);

std::shared_ptr<const WalkMask> SampledWalksOnDevice(const CudaBackend& cuda,
                                                     const InterlacerConfig& config,
                                                     const torch::Tensor& neighbors,
                                                     const torch::Tensor& positions_m,
                                                     std::uint64_t seed, bool with_transpose);

}  // namespace interlacer
