#pragma once

/// Arithmetic of dense layers and convolutions (float32 or bfloat16), and how it is chosen for a
/// machine. Pure functions, thread-safe.

#include "common/device.h"

namespace interlacer {

/// The caller's request. It covers dense layers and convolutions, and the radiance field where a
/// CUDA device renders without gradients; everything else is float32. kAuto takes bfloat16 where
/// the processor multiplies it natively, and on every CUDA device.
enum class DenseDtype { kAuto, kFloat32, kBfloat16 };

/// Arithmetic of a layer: kNative computes in the type of its parameters.
enum class Precision { kNative, kBfloat16 };

/// kAuto becomes kBfloat16 on CUDA and where the processor has AVX-512 BF16, else kNative.
Precision ResolvePrecision(DenseDtype dtype, DeviceKind device);

}  // namespace interlacer
