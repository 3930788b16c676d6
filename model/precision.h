#pragma once

/// Chooses the arithmetic of dense layers for this machine. Pure functions, thread-safe.
/// Errors: INVALID_ARGUMENT CONFIG_INVALID for an unknown word.

#include <string_view>

#include "common/status.h"
#include "model/layers.h"
#include "model/world_model.h"

namespace interlacer {

/// kAuto becomes kBfloat16 on CUDA and where the processor has AVX-512 BF16 or AMX BF16, else
/// kNative.
Precision ResolvePrecision(DenseDtype dtype, DeviceKind device);

StatusOr<DenseDtype> ParseDenseDtype(std::string_view text);  // "auto" | "fp32" | "bf16"

}  // namespace interlacer
