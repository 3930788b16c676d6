#pragma once

/// Loops of model/kernels/token_features.h over the tokens [begin, end), one set per instruction
/// set; the sets give equal bits (model/kernels/grf_attention_rows.h).

#include <cstdint>

#include "model/kernels/token_features.h"

namespace interlacer {

inline constexpr int kTokenLanes = 16;

#define INTERLACER_DECLARE_TOKEN_ROWS(isa)                                                 \
  namespace isa {                                                                          \
  /** `columns` is scratch of kTokenLanes * TokenFeatureWidth. */                          \
  void TokenFeatureRows(const TokenFeatures& tokens, std::int64_t begin, std::int64_t end, \
                        float* columns, float* out);                                       \
  }

INTERLACER_DECLARE_TOKEN_ROWS(cpu)
INTERLACER_DECLARE_TOKEN_ROWS(avx2)
INTERLACER_DECLARE_TOKEN_ROWS(avx512)
#undef INTERLACER_DECLARE_TOKEN_ROWS

}  // namespace interlacer
