#pragma once

/// AdamW over a world model's parameters, with gradient clipping and exact resume.
///
/// Weight decay is off for biases, norms and mask coefficients. The state can be saved to a tensor
/// file and restored to the same bits. Threads: one at a time. Source: adamw; grf-masking, App. C.3
/// (decay 1e-3, global norm 0.01).

#include <torch/optim/adamw.h>

#include <memory>
#include <string>

#include "model/files/checkpoint.h"
#include "model/training/training_config.h"

namespace interlacer {

class WorldModel;

class ModelOptimizer {
 public:
  ModelOptimizer(WorldModel* model, const TrainingConfig& config);

  /// Clips the accumulated gradients, applies one step at `learning_rate`, clears the gradients.
  /// Returns the gradient norm before clipping; parameters stay untouched when it is not finite.
  double Step(double learning_rate);

  NamedTensors State() const;
  /// FAILED_PRECONDITION CHECKPOINT_INVALID when a tensor is missing or has another shape.
  Status LoadState(const NamedTensors& tensors);

 private:
  WorldModel* model_;
  double clip_norm_;
  std::unique_ptr<torch::optim::AdamW> adamw_;
};

}  // namespace interlacer
