#include "model/attention/grf.h"

#include <ATen/Functions.h>

#include "knn/walk_lists.h"

namespace interlacer {

GrfMaskedAttention::GrfMaskedAttention(const NetworkConfig& config, Precision precision)
    : config_(config.local), epsilons_{config.feature_epsilon, config.normalizer_epsilon} {
  const auto dense = [&](const char* name, int in, int out) {
    return register_module(name, std::make_shared<Dense>(in, out, precision));
  };
  query_ = dense("query", config.width, config_.key_width);
  key_ = dense("key", config.width, config_.key_width);
  value_ = dense("value", config.width, config.width);
  out_ = dense("out", config.width, config.width);
  hop_coefficients_ = register_parameter("hop_coefficients", at::ones({kMaxHops + 1}));
}

torch::Tensor GrfMaskedAttention::PairWeights(const WalkMask& mask) const {
  const torch::Tensor& f = hop_coefficients_;
  const torch::Tensor loads = mask.loads().to(f.scalar_type());
  switch (config_.mask_positivity) {
    case MaskPositivity::kAbsCoefficients:
      return at::matmul(loads, f.abs());
    case MaskPositivity::kAbsMask:
      return at::matmul(loads, f).abs();
    case MaskPositivity::kSoftplusCoefficients:
      return at::matmul(loads, at::softplus(f));
    case MaskPositivity::kNone:
      break;
  }
  return at::matmul(loads, f);
}

torch::Tensor GrfMaskedAttention::Forward(const torch::Tensor& h, const TokenGraph& graph) {
  const at::ScalarType type = h.scalar_type();
  torch::Tensor mixed =
      GrfAttention(query_->forward(h).to(type), key_->forward(h).to(type),
                   value_->forward(h).to(type), PairWeights(*graph.mask), graph.mask, epsilons_);
  if (config_.paper_literal_division) mixed = mixed / config_.walk_count;
  return out_->forward(mixed);
}

}  // namespace interlacer
