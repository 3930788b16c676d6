#include "model/attention/linear.h"

namespace interlacer {

LinearReluAttention::LinearReluAttention(const NetworkConfig& config, Precision precision)
    : head_count_(config.global.head_count),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {
  const auto dense = [&](const char* name) {
    return register_module(name, std::make_shared<Dense>(config.width, config.width, precision));
  };
  query_ = dense("query");
  key_ = dense("key");
  value_ = dense("value");
  out_ = dense("out");
}

torch::Tensor LinearReluAttention::Forward(const torch::Tensor& h, const TokenGraph&) {
  const at::ScalarType type = h.scalar_type();
  return out_->forward(LinearAttention(query_->forward(h).to(type), key_->forward(h).to(type),
                                       value_->forward(h).to(type), head_count_, epsilons_));
}

}  // namespace interlacer
