#pragma once

/// Operations whose gradients LibTorch's CUDA kernels add up with atomics, in another order each
/// time. Here a device adds them in one order, so that equal inputs give equal bits there too; on
/// the CPU, whose order is one anyway, and without gradients they are LibTorch's own. Threads: as
/// the tensors.

#include <torch/types.h>

namespace interlacer {

/// index_select(0, index); an index may come several times.
torch::Tensor SelectRows(const torch::Tensor& x, const torch::Tensor& index);

/// upsample_bilinear2d of [n,c,h,w] to [n,c,2h,2w], without aligned corners.
torch::Tensor DoubleSize(const torch::Tensor& x);

/// The same from sums of neighbours, which is how a device computes it where gradients flow.
torch::Tensor DoubleSizeBySums(const torch::Tensor& x);

}  // namespace interlacer
