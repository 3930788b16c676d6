#pragma once

/// Random tensors, and errors between tensors on any device: float32 in, float64 arithmetic. Pure
/// functions except PoisonAllocator.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace interlacer::bench {

/// Uniform in [-1,1).
at::Tensor RandomTensor(const std::vector<std::int64_t>& shape, std::uint64_t seed,
                        std::uint32_t draw);

/// Relative L2 error, as RelativeL2 of bench/errors.h.
double RelativeError(const at::Tensor& got, const at::Tensor& expected);
/// The largest of relative L2 error, 10 (1 - cosine) and |1 - ratio of norms|, so that one bound of
/// 1e-3 covers size, direction and bias (cosine 0.9999, norms within 0.1 %).
double GradientError(const at::Tensor& got, const at::Tensor& expected);

/// Frees memory of the size of `like` filled with NaN, so that the next result of that size is
/// allocated there.
void PoisonAllocator(const at::Tensor& like);

}  // namespace interlacer::bench
