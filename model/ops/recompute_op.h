#pragma once

/// Trades time for memory: forgets what a function computed and computes it again for its gradient.
///
/// `run` maps the inputs to one tensor and may use parameters; it must be a pure function of them.
/// It runs with gradients on both times, the first time's record of them is dropped at once.
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
