#pragma once

/// Keys of seeded draws on a CUDA device: the candidates with the smallest keys are drawn, ties to
/// the lower index.
///
/// Contract: common/kernels/cuda.h.
///   keys_device [n]   the unsigned 64-bit keys less 2^63, so that signed order is theirs; n < 2^32

#include <cstdint>

#include "common/kernels/cuda.h"

namespace interlacer {

/// Keys of DrawSubset (data/unproject.h).
CudaError LaunchSubsetKeys(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                           std::int64_t* keys_device, CudaStream stream);

/// Keys by which message passing draws its anchors (model/graph/anchors.h).
CudaError LaunchAnchorKeys(std::uint64_t seed, std::int64_t n, std::int64_t* keys_device,
                           CudaStream stream);

}  // namespace interlacer
