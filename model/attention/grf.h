#pragma once

/// Local attention masked by walks on the token graph, with learned hop coefficients.
///
///   w_ij  = sum_t F_t loads_t(i,j)      F_t = |f_t| (or another MaskPositivity; w_ij = 1 with
///   kOnes) out_i = sum_j w_ij phi(q_i).phi(k_j) v_j / sum_j w_ij phi(q_i).phi(k_j)
/// Exact and sampled lists differ only in the loads. One head. Threads: as torch modules. The
/// division by n in Alg. 2 is left out unless `paper_literal_division` asks for it.
/// Source: grf-masking, Alg. 2 and App. D.

#include "model/attention/projected.h"
#include "model/config.h"
#include "model/layers/layers.h"
#include "model/ops/grf_attention_op.h"

namespace interlacer {

class GrfMaskedAttention : public ProjectedAttention {
 public:
  GrfMaskedAttention(const NetworkConfig& config, Precision precision);

  torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const TokenGraph& graph) const override;

  /// Weight of every pair (or path-count code) under the current coefficients.
  torch::Tensor PairWeights(const WalkMask& mask) const { return WeightsOf(mask.loads()); }
  torch::Tensor WeightsOf(const torch::Tensor& loads) const;
  const GrfEpsilons& epsilons() const { return epsilons_; }
  bool divides_by_walks() const { return config_.paper_literal_division; }

 private:
  LocalLayerConfig config_;
  GrfEpsilons epsilons_;
  torch::Tensor hop_coefficients_;
};

}  // namespace interlacer
