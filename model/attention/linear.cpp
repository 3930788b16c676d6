#include "model/attention/linear.h"

namespace interlacer {

LinearReluAttention::LinearReluAttention(const NetworkConfig& config, int head_count,
                                         Precision precision)
    : ProjectedAttention(config.width, config.width, precision),
      head_count_(head_count),
      form_(LinearAttentionFormOf(config.width / head_count)),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {}

torch::Tensor LinearReluAttention::Mix(const torch::Tensor& q, const torch::Tensor& k,
                                       const torch::Tensor& v, const TokenGraph& graph) const {
  return form_(q, k, v, head_count_, epsilons_, graph.cuda);
}

}  // namespace interlacer
