#pragma once

/// Deterministic forms of operations whose gradients LibTorch's CUDA kernels sum with atomics, in
/// an order that varies. With a backend they sum in a fixed order, so that equal inputs give equal
/// bits; on the host (null), whose order is fixed anyway, and without gradients they are
/// LibTorch's own.
/// Threads: as the tensors.

#include <torch/types.h>

namespace interlacer {

struct CudaBackend;

/// index_select(0, index); the index may contain duplicates.
torch::Tensor SelectRows(const torch::Tensor& x, const torch::Tensor& index,
                         const CudaBackend* cuda);

/// upsample_bilinear2d of [n,c,h,w] to [n,c,2h,2w], without aligned corners.
torch::Tensor DoubleSize(const torch::Tensor& x, const CudaBackend* cuda);

/// DoubleSize as sums of neighbours, the form used on a device with gradients.
torch::Tensor DoubleSizeBySums(const torch::Tensor& x);

}  // namespace interlacer
