#pragma once

/// The feed-forward layers of a block, one by one. Threads, precision and determinism: as
/// model/layers/layers.h.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "model/layers/layers.h"

namespace interlacer {

/// dense width -> hidden, GELU (erf form), dense hidden -> out.
class FeedForward : public torch::nn::Module {
 public:
  FeedForward(std::int64_t in_width, std::int64_t hidden_width, std::int64_t out_width,
              Precision precision);
  torch::Tensor forward(const torch::Tensor& x);

  /// Its two layers, for callers that compute them in another form.
  Dense& in() { return *in_; }
  Dense& out() { return *out_; }

 private:
  std::shared_ptr<Dense> in_, out_;
};

}  // namespace interlacer
