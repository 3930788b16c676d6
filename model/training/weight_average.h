#pragma once

/// The moving average of a model's weights over the steps of training.
///
/// a <- a + (1 - d) (w - a) after every step, with d = min(decay, (n - 1) / (n + 9)) at step n,
/// so that the first weights are soon forgotten. Steps of one sequence are noisy; their average is
/// what a smaller learning rate would have come to. Ours. Threads: one at a time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/files/tensor_file.h"
#include "model/network/world_model.h"

namespace interlacer {

class WeightAverage {
 public:
  /// Starts at the weights of `model`, which must outlive this.
  WeightAverage(WorldModel* model, double decay);

  /// After step number `steps_done`.
  void Update(std::int64_t steps_done);
  /// Exchanges the model's weights and the average. Between two swaps the model is the average and
  /// State() the weights in training.
  void Swap();
  /// Makes the averages of the parameters for which `settles(name)` holds the model's weights.
  void Settle(const std::function<bool(const std::string&)>& settles);
  /// By parameter name; the tensors are shared with this.
  NamedTensors State() const;
  /// FAILED_PRECONDITION CHECKPOINT_INVALID when a tensor is missing or has another shape.
  Status LoadState(const NamedTensors& tensors);

 private:
  WorldModel* model_;
  double decay_;
  std::vector<torch::Tensor> held_;  // as model_->named_parameters()
};

}  // namespace interlacer
