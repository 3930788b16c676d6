#pragma once

/// Token rows in one pass: feature, positional encoding and time. The fused form of TokenEncoder's
/// tensor operations, for inference.
///
///   out [n, feature_width + 3 + 6 octaves + times]:
///   feature | p = (x - center) / extent | sin, cos(2^o pi p), o = 0.. | one-hot time
/// Errors: none; the caller checks sizes. Accuracy: sine and cosine within 2e-7 where
/// |2^o p| < 2^22. Determinism: rows do not mix; equal bits for any thread count and instruction
/// set. Threads: as grf_attention.h.

#include <cstdint>

#include "common/kernels/parallel_for.h"

namespace interlacer {

struct TokenFeatures {
  std::int64_t n = 0;
  const float* positions_m = nullptr;  ///< [n,3]
  const float* features = nullptr;     ///< [n,feature_width]
  int feature_width = 0;
  float center_m[3] = {};
  float extent_m = 1;
  int octaves = 0;
  int time = 0;
  int times = 1;
};

inline int TokenFeatureWidth(const TokenFeatures& tokens) {
  return tokens.feature_width + 3 + 6 * tokens.octaves + tokens.times;
}

void WriteTokenFeatures(const TokenFeatures& tokens, float* out, ParallelForFunction parallel_for);

}  // namespace interlacer
