#pragma once

/// Local attention masked by walks on the token graph, with learned hop coefficients.
///
///   w_ij  = sum_t F_t loads_t(i,j)      F_t = |f_t| (or another MaskPositivity; w_ij = 1 with
///   kOnes) out_i = sum_j w_ij phi(q_i).phi(k_j) v_j / sum_j w_ij phi(q_i).phi(k_j)
/// Exact and sampled lists differ only in the loads. One head. Threads: as torch modules. The
/// division by n in Alg. 2 is left out unless `paper_literal_division` asks for it.
/// Source: grf-masking, Alg. 2 and Sec. 3.2.

#include "model/attention/projected.h"
#include "model/config.h"
#include "model/cuda/packed_weights.h"
#include "model/layers/layers.h"

namespace interlacer {

class GrfMaskedAttention : public ProjectedAttention {
 public:
  GrfMaskedAttention(const NetworkConfig& config, Precision precision);

 private:
  /// Weight of every pair (or path-count code) under the current coefficients; on a device without
  /// gradients the weights of codes are cached between steps.
  torch::Tensor PairWeights(const TokenGraph& graph);
  torch::Tensor WeightsOfLoads(const WalkMask& mask) const;

  torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const TokenGraph& graph) override;
  bool AddFused(torch::Tensor& h, const AttentionLayers& layers, const TokenGraph& graph,
                const RowRange& rows) override;
  bool AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention, const TokenGraph& graph,
                        const RowRange& rows, const DeviceFeedForward& next) override;

  LocalLayerConfig config_;
  GrfEpsilons epsilons_;
  torch::Tensor hop_coefficients_;
  CachedTensor pair_weights_;
};

}  // namespace interlacer
