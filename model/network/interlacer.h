#pragma once

/// The Interlacer: layers of global and local attention that alternate over all tokens of a step.
///
///   h <- h + Global(LN h);  h <- h + FFN(LN h);  h <- h + Local(LN h);  h <- h + FFN'(LN h)
/// and a final LN after the last block, which is left to the heads (model/network/head.h). Without
/// a local layer there is no feed-forward layer after it either.
///   h [T,d] -> the requested rows of the result; work that only other rows need is skipped.
///   With `recompute` only the blocks' inputs are kept for the backward pass (gradient
///   checkpointing).
/// Threads: as torch modules. Source: grf-masking, App. C.3 (alternation).

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "model/attention/mechanism.h"
#include "model/config.h"
#include "model/layers/feed_forward.h"

namespace interlacer {

/// An attention layer and the feed-forward layers after it, each with its norm.
struct InterlacerLayer {
  std::shared_ptr<LayerNorm> norm;
  std::shared_ptr<AttentionMechanism> attention;
  std::shared_ptr<LayerNorm> feed_forward_norm;
  std::shared_ptr<FeedForward> feed_forward;
};

class InterlacerBlock : public torch::nn::Module {
 public:
  InterlacerBlock(const NetworkConfig& config, Precision precision);
  torch::Tensor forward(torch::Tensor h, const TokenGraph& graph, const RowRange& rows);
  /// Global and, if there is one, local.
  const std::vector<InterlacerLayer>& layers() const { return layers_; }

 private:
  std::vector<InterlacerLayer> layers_;
};

class Interlacer : public torch::nn::Module {
 public:
  Interlacer(const NetworkConfig& config, Precision precision, bool recompute);
  torch::Tensor forward(torch::Tensor h, const TokenGraph& graph, const RowRange& rows);
  const std::vector<std::shared_ptr<InterlacerBlock>>& blocks() const { return blocks_; }
  const LayerNorm& last_norm() const { return *last_norm_; }

 private:
  bool recompute_;
  std::vector<std::shared_ptr<InterlacerBlock>> blocks_;
  std::shared_ptr<LayerNorm> last_norm_;
};

}  // namespace interlacer
