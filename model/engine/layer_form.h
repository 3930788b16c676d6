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
};

}  // namespace interlacer
