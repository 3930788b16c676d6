#pragma once

/// The dense, convolution and norm layers of the network, with their weights by name.
///
/// Parameters are float32 (or float64 in tests): `weight`, `bias`, and `scale` for norms. A layer
/// of precision kBfloat16 rounds input and parameters to bfloat16, accumulates in float32 and
/// returns bfloat16; kNative computes and returns the type of its parameters.
/// Determinism: equal bits for equal inputs and thread count. Threads: as torch modules.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "model/kernels/row_range.h"
#include "model/layers/precision.h"

namespace interlacer {

inline torch::Tensor RowsOf(const torch::Tensor& matrix, const RowRange& rows) {
  return matrix.narrow(0, rows.begin, rows.end - rows.begin);
}

/// A dense layer: [..,in] -> [..,out].
class Dense : public torch::nn::Module {
 public:
  Dense(std::int64_t in_width, std::int64_t out_width, Precision precision);
  torch::Tensor forward(const torch::Tensor& x);
  /// Partial product with columns [begin, begin + the width of x) of the weight, without bias.
  torch::Tensor PartialProduct(const torch::Tensor& x, std::int64_t begin);

  Precision precision() const { return precision_; }
  int in_width() const { return static_cast<int>(weight.size(1)); }
  int out_width() const { return static_cast<int>(weight.size(0)); }

  torch::Tensor weight;  ///< [out,in]
  torch::Tensor bias;    ///< [out]

 private:
  Precision precision_;
};

/// Normalises the last dimension, eps 1e-5. Computes in the type of its parameters.
class LayerNorm : public torch::nn::Module {
 public:
  static constexpr double kEpsilon = 1e-5;

  explicit LayerNorm(std::int64_t width);
  torch::Tensor forward(const torch::Tensor& x) const;

  torch::Tensor scale;  ///< [width]
  torch::Tensor bias;   ///< [width]

 private:
  std::int64_t width_;
};

/// Square kernel, zero padding kernel/2: [b,in,h,w] -> [b,out,h/stride,w/stride].
class Convolution : public torch::nn::Module {
 public:
  Convolution(std::int64_t in_width, std::int64_t out_width, int kernel_size, int stride,
              Precision precision);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  int padding_, stride_;
  Precision precision_;
  torch::Tensor weight_, bias_;
};

/// Group norm over [b,width,h,w], eps 1e-5, then SiLU; keeps the type of its input.
class GroupNormSilu : public torch::nn::Module {
 public:
  GroupNormSilu(int group_count, std::int64_t width);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  int group_count_;
  torch::Tensor scale_, bias_;
};

}  // namespace interlacer
