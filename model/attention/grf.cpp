#include "model/attention/grf.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "knn/walk_lists.h"

namespace interlacer {

GrfMaskedAttention::GrfMaskedAttention(const NetworkConfig& config, Precision precision)
    : ProjectedAttention(config.width, config.local.key_width, precision),
      config_(config.local),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {
  hop_coefficients_ = register_parameter("hop_coefficients", at::ones({kMaxHops + 1}));
}

torch::Tensor GrfMaskedAttention::PairWeights(const TokenGraph& graph) {
  const WalkMask& mask = *graph.mask;
  if (!mask.packed() || graph.cuda == nullptr || at::GradMode::is_enabled()) {
    return WeightsOfLoads(mask);
  }
  // The loads of packed masks are the same tensor in every step, so their pair weights are cached.
  return pair_weights_.Of({hop_coefficients_, mask.loads()}, [&] { return WeightsOfLoads(mask); });
}

torch::Tensor GrfMaskedAttention::WeightsOfLoads(const WalkMask& mask) const {
  const torch::Tensor& f = hop_coefficients_;
  const torch::Tensor loads = mask.loads().to(f.scalar_type());
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
                                      const torch::Tensor& v, const TokenGraph& graph) {
  const torch::Tensor weights = PairWeights(graph);
  const auto type = graph.mask->packed() ? q.scalar_type() : weights.scalar_type();
  const torch::Tensor mixed =
      GrfAttention(q.to(type), k.to(type), v.to(type), weights, graph.mask, epsilons_, graph.cuda);
  return config_.paper_literal_division ? mixed / config_.walk_count : mixed;
}

bool GrfMaskedAttention::AddFused(torch::Tensor& h, const AttentionLayers& layers,
                                  const TokenGraph& graph, const RowRange& rows) {
  return !config_.paper_literal_division &&
         AddGrfAttentionTo(h, layers, *graph.mask, PairWeights(graph), epsilons_, rows);
}

bool GrfMaskedAttention::AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention,
                                          const TokenGraph& graph, const RowRange& rows,
                                          const DeviceFeedForward& next) {
  return !config_.paper_literal_division && graph.mask->packed() &&
         AddGrfAttentionOnDevice(*graph.cuda, h, attention, *graph.mask, PairWeights(graph),
                                 epsilons_, rows, next);
}

}  // namespace interlacer
