#pragma once

/// A form of one layer of the Interlacer for inference, bound to its weights.

#include <torch/types.h>

#include <functional>
#include <string>

#include "model/graph/token_graph.h"
#include "model/layers/layers.h"

namespace interlacer {

/// h [T,d] -> the given rows of h with the layer's update added; may overwrite h.
using LayerForm =
    std::function<torch::Tensor(torch::Tensor h, const TokenGraph& graph, const RowRange& rows)>;

/// A form, or why there is none for these layers.
struct BoundForm {
  LayerForm form;
  std::string why_not;
  /// The form of an attention layer computes the feed-forward layers after it too.
  bool with_feed_forward = false;
};

/// Returns an empty string, or why no fused form can pack the weights of a layer.
inline std::string WhyNotPackable(const Dense& layer) {
  if (layer.precision() != Precision::kBfloat16) return "layers compute in float32";
  if (layer.weight.scalar_type() != at::kFloat || !layer.weight.is_contiguous()) {
    return "weights are not contiguous float32";
  }
  return {};
}

}  // namespace interlacer
