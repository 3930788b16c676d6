#pragma once

/// The feed-forward layers of a block, one by one or fused. Threads, precision and determinism: as
/// model/layers/layers.h.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "model/cuda/packed_weights.h"
#include "model/layers/device_layers.h"
#include "model/layers/layers.h"

namespace interlacer {

/// dense width -> hidden, GELU (erf form), dense hidden -> out.
class FeedForward : public torch::nn::Module {
 public:
  FeedForward(std::int64_t in_width, std::int64_t hidden_width, std::int64_t out_width,
              Precision precision);
  torch::Tensor forward(const torch::Tensor& x);
  /// x + forward(norm(x)) for inference: no gradients, may overwrite x.
  torch::Tensor AddTo(torch::Tensor x, LayerNorm& norm, const CudaBackend* cuda);

  /// Its two layers, for callers that compute parts of them once for several rows.
  Dense& in() { return *in_; }
  Dense& out() { return *out_; }

  /// For kernels that include these layers (model/layers/device_layers.h).
  bool CanFuseOnDevice(const torch::Tensor& x, const CudaBackend& cuda) const;
  DeviceFeedForward OnDevice(const LayerNorm& norm);

 private:
  std::shared_ptr<Dense> in_, out_;
  PackedWeights packed_;
};

}  // namespace interlacer
