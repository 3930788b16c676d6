#pragma once

/// Interface of the attention mechanisms, through which tokens exchange information.
///
///   Forward   h [T,d] normalised tokens, graph of the step  ->  update [T,d] for the residual
///   AddTo     h [T,d] -> the given rows of h + Forward(norm(h)), and then of the feed-forward
///             layers that follow, for inference: no gradients, may overwrite h
/// Forward is differentiable in h and weights. Threads: as torch modules.

#include <torch/nn/module.h>

#include <utility>

#include "model/graph/token_graph.h"
#include "model/layers/feed_forward.h"

namespace interlacer {

/// Feed-forward layers with norm and residual sum: y -> y + layers(norm(y)).
struct NormedFeedForward {
  LayerNorm& norm;
  FeedForward& layers;
  torch::Tensor AddTo(torch::Tensor y, const CudaBackend* cuda) const {
    return layers.AddTo(std::move(y), norm, cuda);
  }
};

class AttentionMechanism : public torch::nn::Module {
 public:
  virtual torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) = 0;
  virtual torch::Tensor AddTo(torch::Tensor h, LayerNorm& norm, const TokenGraph& graph,
                              const RowRange& rows, const NormedFeedForward& next) {
    return next.AddTo(rows.Of(h) + rows.Of(Forward(norm.forward(h), graph)), graph.cuda);
  }
};

}  // namespace interlacer
