#pragma once

/// Gradient checkpointing: discards intermediate results and computes them again for the gradient.
///
/// `run` maps the inputs to one tensor and may use parameters; it must be a pure function of them.
/// It runs with gradients enabled both times; the first time's graph is discarded at once.
/// Gradients of inputs flow on; those of parameters are added to their .grad by backward() (not by
/// autograd::grad). Same bits as without recomputation. Threads: as `run`.
/// Source: checkpointing.

#include <torch/types.h>

#include <functional>
#include <vector>

namespace interlacer {

using TensorFunction = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

torch::Tensor Recompute(TensorFunction run, const std::vector<torch::Tensor>& inputs);

}  // namespace interlacer
