#pragma once

/// GELU in its erf form by a polynomial, off by at most 6e-5: what the fused forms on a CPU and on
/// a GPU share.

#include "common/kernels/host_device.h"

namespace interlacer {

/// erf(x / sqrt 2) / x in powers of x^2, minimax on |x| <= kGeluRange and 1 / x at its end, so that
/// beyond it erf may stay what it is there.
inline constexpr float kGeluRange = 4.25F;
inline constexpr int kGeluTerms = 10;
inline constexpr float kGeluErf[kGeluTerms] = {0.7977855205535889F,     -0.1326248049736023F,
                                               0.019569026306271553F,   -0.0021891475189477205F,
                                               0.0001801089965738356F,  -1.0303080671292264e-05F,
                                               3.701039759107516e-07F,  -6.553810383280734e-09F,
                                               -2.282957460228441e-12F, 1.3239937575112992e-12F};

/// x Phi(x); NaN stays NaN.
INTERLACER_HOST_DEVICE inline float Gelu(float x) {
  constexpr float kErf[kGeluTerms] = {kGeluErf[0], kGeluErf[1], kGeluErf[2], kGeluErf[3],
                                      kGeluErf[4], kGeluErf[5], kGeluErf[6], kGeluErf[7],
                                      kGeluErf[8], kGeluErf[9]};
  const float t = x < -kGeluRange ? -kGeluRange : x > kGeluRange ? kGeluRange : x;
  const float u = t * t;
  float p = kErf[kGeluTerms - 1];
  for (int i = kGeluTerms - 2; i >= 0; --i) p = p * u + kErf[i];
  const float half = 0.5F * x;
  return half * (p * t) + half;
}

}  // namespace interlacer
