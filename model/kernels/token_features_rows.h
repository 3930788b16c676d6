#pragma once

/// Loops of model/kernels/token_features.h over the tokens [begin, end), one set per instruction
/// set; the sets give equal bits (model/kernels/grf_attention_rows.h).

#include <cstdint>

#include "common/kernels/instruction_sets.h"
#include "model/kernels/token_features.h"

namespace interlacer {

inline constexpr int kTokenLanes = 16;

INTERLACER_FOR_INSTRUCTION_SETS(
    /** `columns` is scratch of kTokenLanes * TokenFeatureWidth. */
    void TokenFeatureRows(const TokenFeatures& tokens, std::int64_t begin, std::int64_t end,
                          float* columns, float* out);)

}  // namespace interlacer
