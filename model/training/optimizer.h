#pragma once

/// AdamW over a network's parameters, with gradient clipping and exact resume.
///
/// Weight decay is off for biases, norms and mask coefficients (HasWeightDecay). The state can be
/// saved to a tensor file and restored to the same bits. Threads: one at a time. Source: adamw;
/// grf-masking, App. C.3 (decay 1e-3, global norm 0.01).

#include <torch/nn/module.h>
#include <torch/optim/adamw.h>

#include <memory>
#include <string>

#include "common/status.h"
#include "model/files/tensor_file.h"

namespace interlacer {

class ModelOptimizer {
 public:
  /// `gradient_clip_norm`: infinity clips nothing.
  ModelOptimizer(torch::nn::Module* model, double weight_decay, double gradient_clip_norm);

  /// Clips the accumulated gradients, applies one step at `learning_rate`, clears the gradients.
  /// Returns the gradient norm before clipping; parameters stay untouched when it is not finite.
  double Step(double learning_rate);

  NamedTensors State() const;
  /// FAILED_PRECONDITION CHECKPOINT_INVALID when a tensor is missing or has another shape.
  Status LoadState(const NamedTensors& tensors);

 private:
  torch::nn::Module* model_;
  double clip_norm_;
  std::unique_ptr<torch::optim::AdamW> adamw_;
};

}  // namespace interlacer
