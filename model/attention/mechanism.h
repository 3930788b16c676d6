#pragma once

/// Interface of the attention mechanisms, through which tokens exchange information.
///
///   Forward   h [T,d] normalised tokens, graph of the step  ->  update [T,d] for the residual
/// Forward is differentiable in h and weights. Threads: as torch modules.

#include <torch/nn/module.h>

#include "model/graph/token_graph.h"

namespace interlacer {

class AttentionMechanism : public torch::nn::Module {
 public:
  virtual torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) = 0;
};

}  // namespace interlacer
