#pragma once

/// Exponential moving average (EMA) of a model's weights over the steps of training.
///
/// a <- a + (1 - d) (w - a) after every step, with d = min(decay, (n - 1) / (n + 9)) at step n,
/// so that the first weights are soon forgotten. Steps on one sequence are noisy; averaging has an
/// effect like a smaller learning rate. Ours. Threads: one at a time.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/files/tensor_file.h"

namespace interlacer {

class WorldModel;

class WeightEma {
 public:
  /// Starts at the weights of `model`, which must outlive this.
  WeightEma(WorldModel* model, double decay);

  /// Must be called after step number `steps_done`.
  void Update(std::int64_t steps_done);
  /// Exchanges the model's weights and the average. Between two swaps the model holds the average
  /// and State() the weights in training.
  void Swap();
  /// Sets the model's weights to the average for the parameters for which `settles(name)`.
  void Settle(const std::function<bool(const std::string&)>& settles);
  /// The average by parameter name; the tensors share memory with this object.
  NamedTensors State() const;
  /// FAILED_PRECONDITION CHECKPOINT_INVALID when a tensor is missing or has another shape.
  Status LoadState(const NamedTensors& tensors);

 private:
  WorldModel* model_;
  double decay_;
  std::vector<torch::Tensor> held_;  // as model_->named_parameters()
};

}  // namespace interlacer
