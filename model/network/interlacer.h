#pragma once

/// The Interlacer: global and local attention in turn, over all tokens of a step.
///
///   h <- h + Global(LN h);  h <- h + FFN(LN h);  h <- h + Local(LN h);  h <- h + FFN'(LN h)
/// and one more LN after the last block, which is left to what follows (model/network/head.h).
/// Without a local layer its feed-forward is absent too.
///   h [T,d] -> the given rows of the result; what only other rows would need is left out. Without
///   gradients the memory of h is used up. With `recompute` only the blocks' inputs are kept for
///   the backward pass.
/// Threads: as torch modules. Source: grf-masking, App. C.3 (alternation).

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "model/attention/mechanism.h"
#include "model/config.h"
#include "model/layers/feed_forward.h"

namespace interlacer {

class InterlacerBlock : public torch::nn::Module {
 public:
  InterlacerBlock(const NetworkConfig& config, Precision precision);
  torch::Tensor forward(torch::Tensor h, const TokenGraph& graph, const RowRange& rows);
  /// The same without gradients, with fused layers, in the memory of h.
  torch::Tensor Infer(torch::Tensor h, const TokenGraph& graph, const RowRange& rows);

 private:
  std::shared_ptr<LayerNorm> global_norm_, global_ffn_norm_, local_norm_, local_ffn_norm_;
  std::shared_ptr<AttentionMechanism> global_, local_;
  std::shared_ptr<FeedForward> global_ffn_, local_ffn_;
};

class Interlacer : public torch::nn::Module {
 public:
  Interlacer(const NetworkConfig& config, Precision precision, bool recompute);
  torch::Tensor forward(torch::Tensor h, const TokenGraph& graph, const RowRange& rows);
  const LayerNorm& last_norm() const { return *last_norm_; }

 private:
  bool recompute_;
  std::vector<std::shared_ptr<InterlacerBlock>> blocks_;
  std::shared_ptr<LayerNorm> last_norm_;
};

}  // namespace interlacer
