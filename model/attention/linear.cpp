#include "model/attention/linear.h"

namespace interlacer {

LinearReluAttention::LinearReluAttention(const NetworkConfig& config, int head_count,
                                         Precision precision)
    : ProjectedAttention(config.width, config.width, precision),
      head_count_(head_count),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {}

torch::Tensor LinearReluAttention::Mix(const torch::Tensor& q, const torch::Tensor& k,
                                       const torch::Tensor& v, const TokenGraph& graph) {
  return LinearAttention(q, k, v, head_count_, epsilons_, graph.cuda);
}

bool LinearReluAttention::AddFused(torch::Tensor& h, const AttentionLayers& layers,
                                   const TokenGraph&, const RowRange& rows) {
  return AddLinearAttentionTo(h, layers, head_count_, epsilons_, rows);
}

bool LinearReluAttention::AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention,
                                           const TokenGraph& graph, const RowRange& rows,
                                           const DeviceFeedForward& next) {
  return AddLinearAttentionOnDevice(*graph.cuda, h, attention, head_count_, epsilons_, rows, next);
}

}  // namespace interlacer
