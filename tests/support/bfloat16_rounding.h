#pragma once

/// What a number is after a kernel stored it in bfloat16.

#include "common/kernels/bfloat16.h"

namespace interlacer::testing {

inline float RoundedToBfloat16(float x) { return FromBfloat16(ToBfloat16(x)); }

}  // namespace interlacer::testing
