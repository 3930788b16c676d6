#pragma once

/// ReLU linear attention over all tokens, with heads of width d / H (formula:
/// model/ops/linear_attention_op.h). Threads: as torch modules. Source: grf-masking, Eq. 3.

#include "model/attention/projected.h"
#include "model/config.h"
#include "model/layers/layers.h"
#include "model/ops/linear_attention_op.h"

namespace interlacer {

class LinearReluAttention : public ProjectedAttention {
 public:
  LinearReluAttention(const NetworkConfig& config, int head_count, Precision precision);

  torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const TokenGraph& graph) const override;

  int head_count() const { return head_count_; }
  const LinearAttentionEpsilons& epsilons() const { return epsilons_; }

 private:
  int head_count_;
  LinearAttentionForm form_;
  LinearAttentionEpsilons epsilons_;
};

}  // namespace interlacer
