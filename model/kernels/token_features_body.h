/// Body of token_features_rows.h; rules as grf_attention_body.h. Sixteen tokens at a time are
/// computed column by column in vector registers, then written row by row.
///
/// Bound: arithmetic of the sines and cosines.

#include <cmath>
#include <cstring>

#include "model/kernels/token_features_rows.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

constexpr float kRoundToEven = 12582912.0F;  // 1.5 * 2^23: adding it leaves no fraction bits

using Lanes = float[kTokenLanes];

/// sin and cos of pi x scale, by Taylor series on the remainder |r| <= 1/2.
inline void SinCosPi(const float* x, float scale, float* sine, float* cosine) {
  constexpr float kSine[] = {3.1415927410F,  -5.1677127800F, 2.5501640399F,
                             -0.5992645293F, 0.0821458866F,  -0.0073704309F};
  constexpr float kCosine[] = {1.0F,          -4.9348022005F, 4.0587121264F, -1.3352627689F,
                               0.2353306304F, -0.0258068913F, 0.0019295743F};
  Lanes shifted;
  std::int32_t parity[kTokenLanes];
  for (int l = 0; l < kTokenLanes; ++l) shifted[l] = x[l] * scale + kRoundToEven;
  std::memcpy(parity, shifted, sizeof(parity));
  for (int l = 0; l < kTokenLanes; ++l) {
    const float r = x[l] * scale - (shifted[l] - kRoundToEven);
    const float y = r * r;
    float s = kSine[5], c = kCosine[6];
    for (int i = 4; i >= 0; --i) s = s * y + kSine[i];
    for (int i = 5; i >= 0; --i) c = c * y + kCosine[i];
    const float sign = 1.0F - 2.0F * static_cast<float>(parity[l] & 1);
    sine[l] = sign * r * s;
    cosine[l] = sign * c;
  }
}

}  // namespace

void TokenFeatureRows(const TokenFeatures& tokens, std::int64_t begin, std::int64_t end,
                      float* columns, float* out) {
  const int width = TokenFeatureWidth(tokens);
  const int computed = width - tokens.feature_width;
  const float inverse_extent = 1.0F / tokens.extent_m;
  for (std::int64_t first = begin; first < end; first += kTokenLanes) {
    const int lanes = static_cast<int>(end - first < kTokenLanes ? end - first : kTokenLanes);
    Lanes x[3];
    for (int l = 0; l < kTokenLanes; ++l) {
      const std::int64_t token = first + (l < lanes ? l : 0);
      for (int c = 0; c < 3; ++c) x[c][l] = tokens.positions_m[3 * token + c];
    }
    float* to = columns;
    for (int c = 0; c < 3; ++c, to += kTokenLanes) {
      for (int l = 0; l < kTokenLanes; ++l) {
        to[l] = (x[c][l] - tokens.center_m[c]) * inverse_extent;
      }
    }
    for (int octave = 0; octave < tokens.octaves; ++octave, to += 6 * kTokenLanes) {
      const auto scale = static_cast<float>(std::int64_t{1} << octave);
      for (int c = 0; c < 3; ++c) {
        SinCosPi(columns + c * kTokenLanes, scale, to + c * kTokenLanes,
                 to + (3 + c) * kTokenLanes);
      }
    }
    for (int time = 0; time < tokens.times; ++time, to += kTokenLanes) {
      for (int l = 0; l < kTokenLanes; ++l) to[l] = time == tokens.time ? 1.0F : 0.0F;
    }
    for (int l = 0; l < lanes; ++l) {
      float* row = out + (first + l) * width;
      std::memcpy(row, tokens.features + (first + l) * tokens.feature_width,
                  static_cast<std::size_t>(tokens.feature_width) * sizeof(float));
      row += tokens.feature_width;
      for (int c = 0; c < computed; ++c) row[c] = columns[c * kTokenLanes + l];
    }
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
