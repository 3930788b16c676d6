#pragma once

/// The world model's dynamics step in LibTorch's own operations, written in the straightforward
/// way: no fused layer, no shared gather. It copies the weights of a WorldModel by name and is
/// given the walks of the tokens, so its time includes no neighbour search.
///
/// Dense layers compute in `dense_type`, the rest in `type`; a float64 copy is the reference of the
/// gates. Token order is that of the inputs: older cloud, newer cloud, kinematic points. Threads:
/// LibTorch's.

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "bench/peers/eager_renderer.h"
#include "bench/peers/eager_walks.h"
#include "model/network/world_model.h"

namespace interlacer::bench {

enum class WalkForm { kPrefixes, kMerged };

class EagerModel {
 public:
  /// With `trainable` the weights are leaves of autograd.
  EagerModel(const WorldModel& model, at::ScalarType type, at::ScalarType dense_type,
             bool trainable);

  CloudTensors Step(const StepInput& input, const WalkIndices& walks, WalkForm form) const;
  EagerField field() const;
  /// Weights by the parameter names of WorldModel, without the encoder's.
  const std::map<std::string, torch::Tensor>& weights() const { return weights_; }

 private:
  torch::Tensor Linear(const std::string& name, const torch::Tensor& x, bool dense) const;
  torch::Tensor Norm(const std::string& name, const torch::Tensor& x) const;
  torch::Tensor FeedForward(const std::string& name, const torch::Tensor& x) const;
  torch::Tensor Place(const torch::Tensor& positions_m, const Box& workspace) const;
  torch::Tensor VisualTokens(const StepInput& input) const;
  torch::Tensor KinematicTokens(const StepInput& input) const;
  torch::Tensor Block(const std::string& name, torch::Tensor h, const WalkIndices& walks,
                      WalkForm form) const;

  InterlacerConfig config_;
  at::ScalarType dense_type_;
  std::map<std::string, torch::Tensor> weights_;
};

}  // namespace interlacer::bench
