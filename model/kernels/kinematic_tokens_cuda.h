#pragma once

/// CUDA form of model/kernels/kinematic_tokens.h: the same numbers up to float32
/// rounding, pointers on the current device, one launch.
///
/// cudaErrorInvalidValue for arms without gripper and fingers. Points do not mix; equal calls give
/// equal bits. Contract: common/kernels/cuda.h.

#include "common/kernels/cuda.h"
#include "model/kernels/kinematic_tokens.h"

namespace interlacer {

CudaError LaunchKinematicTokens(const KinematicTokens& tokens_device,
                                const KinematicTokenOutputs& out_device, CudaStream stream);

}  // namespace interlacer
