#pragma once

/// GELU in its erf form by a polynomial with an error of at most 8e-5, shared by the fused CPU and
/// GPU kernels.

#include "common/kernels/host_device.h"

namespace interlacer {

/// Coefficients of (Phi(x) - 1/2) / x in powers of (x / kGeluRange)^2, minimax on |x| <=
/// kGeluRange. Beyond this range the power is held at 1, and the product with x leaves [-1/2, 1/2]
/// at once and is clamped.
inline constexpr float kGeluRange = 4.16F;
inline constexpr int kGeluTerms = 8;
inline constexpr float kGeluHalfErf[kGeluTerms] = {0.39854687F, -1.1363533F, 2.8072729F,
                                                   -5.0286837F, 6.2412162F,  -5.0282941F,
                                                   2.3414674F,  -0.47498691F};

/// Clamps x to [0, 1]; NaN gives 0. A free modifier of the instruction on a GPU.
INTERLACER_HOST_DEVICE inline float Saturated(float x) {
#if defined(__CUDA_ARCH__)
  return __saturatef(x);
#else
  return x > 0 ? (x < 1 ? x : 1) : 0;
#endif
}

/// x Phi(x); NaN stays NaN.
INTERLACER_HOST_DEVICE inline float Gelu(float x) {
  constexpr float kTerms[kGeluTerms] = {kGeluHalfErf[0], kGeluHalfErf[1], kGeluHalfErf[2],
                                        kGeluHalfErf[3], kGeluHalfErf[4], kGeluHalfErf[5],
                                        kGeluHalfErf[6], kGeluHalfErf[7]};
  const float y = x * (1 / kGeluRange);
  const float u = Saturated(y * y);
  float p = kTerms[kGeluTerms - 1];
  for (int i = kGeluTerms - 2; i >= 0; --i) p = p * u + kTerms[i];
  return x * Saturated(x * p + 0.5F);
}

}  // namespace interlacer
