#pragma once

/// The renderer's radiance field, a trainable MLP from a summary of neighbouring particles to
/// density and colour.
///
///   in -> hidden (ReLU) -> hidden (ReLU) -> 4; weights [out,in] row-major, as torch stores them
///   input  [kernels * feature_width + kernels]: normalised annular feature sums, kernel by kernel,
///          then log(mass + 1e-6) / 10 of every kernel
///   output 0: density logit (softplus, 1/m); 1..3: colour logits (sigmoid)
/// No view direction and no absolute position, so the field moves with its particles.
/// Source: vpd; hd-vpd.

#include <cmath>
#include <span>

namespace interlacer {

inline constexpr int kFieldOutputWidth = 4;

/// ln(1 + e^x) and its slope, without overflow.
template <typename Real>
Real Softplus(Real x) {
  return x > Real(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
template <typename Real>
Real Sigmoid(Real x) {
  return x > Real(0) ? Real(1) / (Real(1) + std::exp(-x)) : std::exp(x) / (Real(1) + std::exp(x));
}

struct FieldWeights {
  std::span<const float> w1, b1, w2, b2, w3, b3;
};
struct FieldGradients {
  std::span<float> w1, b1, w2, b2, w3, b3;
};

}  // namespace interlacer
