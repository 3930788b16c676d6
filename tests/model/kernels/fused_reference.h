#pragma once

/// Dense layers and norms in float64, and layers to put into them.

#include <cmath>
#include <cstdint>
#include <vector>

#include "model/kernels/fused_dense.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

struct Layer {
  int in, out;
  std::vector<float> weight, bias;
  PackedDense packed() const { return PackDense(weight.data(), bias.data(), in, out); }
};

inline float Eighths(float x) { return std::round(8 * x) / 8; }

inline Layer RandomLayer(int in, int out, std::uint32_t which, bool exact = false) {
  Layer layer{in, out, RandomNormal<float>(std::int64_t{in} * out, 5, which),
              RandomNormal<float>(out, 5, which + 1)};
  for (float& w : layer.weight) w = exact ? Eighths(w) : w / std::sqrt(static_cast<float>(in));
  return layer;
}

inline std::vector<double> DenseReference(const std::vector<double>& x, const Layer& layer) {
  const std::int64_t n = static_cast<std::int64_t>(x.size()) / layer.in;
  std::vector<double> y(static_cast<std::size_t>(n * layer.out));
  for (std::int64_t i = 0; i < n; ++i) {
    for (int o = 0; o < layer.out; ++o) {
      double sum = layer.bias[o];
      for (int c = 0; c < layer.in; ++c) {
        sum += x[i * layer.in + c] * layer.weight[std::int64_t{o} * layer.in + c];
      }
      y[i * layer.out + o] = sum;
    }
  }
  return y;
}

inline std::vector<double> NormReference(const std::vector<float>& h, int width,
                                         const std::vector<float>& scale,
                                         const std::vector<float>& bias) {
  std::vector<double> y(h.size());
  for (std::size_t row = 0; row < h.size(); row += width) {
    double mean = 0, variance = 0;
    for (int c = 0; c < width; ++c) mean += h[row + c] / width;
    for (int c = 0; c < width; ++c) variance += std::pow(h[row + c] - mean, 2) / width;
    for (int c = 0; c < width; ++c) {
      y[row + c] = (h[row + c] - mean) / std::sqrt(variance + 1e-5) * scale[c] + bias[c];
    }
  }
  return y;
}

}  // namespace interlacer::testing
