#pragma once

/// CUDA form of model/kernels/token_features.h: the same columns, pointers on the current device.
///
/// Rows do not mix; equal calls give equal bits. Contract: common/kernels/cuda.h.

#include "common/kernels/cuda.h"
#include "model/kernels/token_features.h"

namespace interlacer {

CudaError LaunchTokenFeatures(const TokenFeatures& tokens_device, float* out_device,
                              CudaStream stream);

}  // namespace interlacer
