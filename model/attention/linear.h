#pragma once

/// Global ReLU linear attention with heads of width d / H; see model/ops/linear_attention_op.h.
/// Threads: as torch modules. Source: GRF masking paper, Eq. 3.

#include <memory>

#include "model/attention/mechanism.h"
#include "model/config.h"
#include "model/layers.h"
#include "model/ops/linear_attention_op.h"

namespace interlacer {

class LinearReluAttention : public AttentionMechanism {
 public:
  LinearReluAttention(const NetworkConfig& config, Precision precision);
  torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) override;

 private:
  int head_count_;
  LinearAttentionEpsilons epsilons_;
  std::shared_ptr<Dense> query_, key_, value_, out_;
};

}  // namespace interlacer
