#pragma once

/// A form of one layer of the Interlacer for inference, bound to its weights.

#include <torch/types.h>

#include <functional>
#include <string>

#include "model/graph/token_graph.h"
#include "model/kernels/packed_dense.h"
#include "model/layers/layers.h"

namespace interlacer {

/// h [T,d] -> the given rows of h with the layer's update added; may overwrite h.
using LayerForm =
    std::function<torch::Tensor(torch::Tensor h, const TokenGraph& graph, const RowRange& rows)>;

/// A fused form, and why there is none for these layers or for a part of them.
struct BoundForm {
  LayerForm form;
  std::string why_not;  ///< empty where all is fused
  /// The form of an attention layer computes the feed-forward layers after it too.
  bool with_feed_forward = false;
};

/// Parameters of a norm for kernels; the layer must be in float32.
inline RowNorm RowNormOf(const LayerNorm& norm) {
  return {norm.scale.const_data_ptr<float>(), norm.bias.const_data_ptr<float>(),
          static_cast<float>(LayerNorm::kEpsilon)};
}

/// Returns an empty string, or why no fused form can pack the weights of a layer.
inline std::string WhyNotPackable(const Dense& layer) {
  if (layer.precision() != Precision::kBfloat16) return "layers compute in float32";
  if (layer.weight.scalar_type() != at::kFloat || !layer.weight.is_contiguous()) {
    return "weights are not contiguous float32";
  }
  return {};
}

}  // namespace interlacer
