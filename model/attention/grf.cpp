#include "model/attention/grf.h"

#include <ATen/Functions.h>

#include "knn/walk_lists.h"

namespace interlacer {

GrfMaskedAttention::GrfMaskedAttention(const NetworkConfig& config, Precision precision)
    : ProjectedAttention(config.width, config.local.key_width, precision),
      config_(config.local),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {
  hop_coefficients_ = register_parameter("hop_coefficients", at::ones({kMaxHops + 1}));
}

torch::Tensor GrfMaskedAttention::WeightsOf(const torch::Tensor& given) const {
  const torch::Tensor& f = hop_coefficients_;
  const torch::Tensor loads = given.to(f.scalar_type());
  switch (config_.mask_positivity) {
    case MaskPositivity::kAbsCoefficients:
      return at::matmul(loads, f.abs());
    case MaskPositivity::kAbsMask:
      return at::matmul(loads, f).abs();
    case MaskPositivity::kSoftplusCoefficients:
      return at::matmul(loads, at::softplus(f));
    case MaskPositivity::kOnes:
      return at::ones({loads.size(0)}, f.options().requires_grad(false));
    case MaskPositivity::kNone:
      break;
  }
  return at::matmul(loads, f);
}

torch::Tensor GrfMaskedAttention::Mix(const torch::Tensor& q, const torch::Tensor& k,
                                      const torch::Tensor& v, const TokenGraph& graph) const {
  const torch::Tensor weights = PairWeights(*graph.mask);
  const auto type = graph.mask->packed() ? q.scalar_type() : weights.scalar_type();
  const torch::Tensor mixed =
      GrfAttention(q.to(type), k.to(type), v.to(type), weights, graph.mask, epsilons_, graph.cuda);
  return config_.paper_literal_division ? mixed / config_.walk_count : mixed;
}

}  // namespace interlacer
