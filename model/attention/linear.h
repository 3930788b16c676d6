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

 private:
  torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const TokenGraph& graph) override;
  bool AddFused(torch::Tensor& h, const AttentionLayers& layers, const TokenGraph& graph,
                const RowRange& rows) override;
  bool AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention, const TokenGraph& graph,
                        const RowRange& rows, const DeviceFeedForward& next) override;

  int head_count_;
  LinearAttentionEpsilons epsilons_;
};

}  // namespace interlacer
