#pragma once

/// CUDA form of model/kernels/token_features.h: the same columns, pointers on the current device.
///
/// A stream is an opaque cudaStream_t. Returns a cudaError_t, 0 being success. Nothing allocates,
/// waits, or runs on the default stream. Rows do not mix; equal calls give equal bits.

#include "model/kernels/token_features.h"

namespace interlacer {

int LaunchTokenFeatures(const TokenFeatures& tokens_device, float* out_device, void* stream);

}  // namespace interlacer
