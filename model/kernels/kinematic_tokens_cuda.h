#pragma once

/// CUDA form of model/kernels/kinematic_tokens.h: the same numbers up to float32
/// rounding, pointers on the current device, one launch.
///
/// A stream is an opaque cudaStream_t. Returns a cudaError_t, 0 being success;
/// cudaErrorInvalidValue for arms without gripper and fingers. Nothing allocates, waits, or runs on
/// the default stream. Points do not mix; equal calls give equal bits.

#include "model/kernels/kinematic_tokens.h"

namespace interlacer {

int LaunchKinematicTokens(const KinematicTokens& tokens_device,
                          const KinematicTokenOutputs& out_device, void* stream);

}  // namespace interlacer
