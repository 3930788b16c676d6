#pragma once

/// Tensors of a made-up step for the tiny model: two sheets of particles and moving arms.

#include <ATen/Functions.h>
#include <torch/types.h>

#include <memory>

#include "model/lifting/lifted_scene.h"
#include "model/network/world_model.h"
#include "tests/support/clouds.h"
#include "tests/support/tiny_model.h"

namespace interlacer::testing {

inline torch::Tensor ToPositions(const Cloud& cloud) {
  return at::tensor(cloud, at::kFloat).reshape({-1, 3});
}

inline CloudTensors SheetTensors(int n, int feature_width, std::uint64_t seed) {
  return {ToPositions(SheetCloud(n, seed)), at::randn({n, feature_width})};
}

/// Two clouds of n particles and p points of the robot that move by a centimetre a step; every
/// fourth particle is the robot's, and all others have a guess where the model takes one.
inline StepInput MakeStepInput(int n, const InterlacerConfig& config, int p = 20) {
  at::manual_seed(5);
  const torch::Tensor points = 0.3 * at::randn({1, p, 3});
  const torch::Tensor motion = 0.01 * at::arange(3, at::kFloat).reshape({3, 1, 1});
  const torch::Tensor normals = at::randn({3, p, 3});
  const torch::Tensor is_attached = at::arange(n, at::kFloat).remainder(4).eq(0).unsqueeze(1);
  const auto particle_motion = [&] {
    return at::where(is_attached, at::cat({at::ones({n, 1}), 0.01 * at::randn({n, 3})}, 1), 0.f);
  };
  StepInput input{
      SheetTensors(n, config.encoder.feature_width, 11),
      SheetTensors(n, config.encoder.feature_width, 12),
      points + motion,
      config.data.workspace,
      0,
      {normals / normals.norm(2, {-1}, true), at::arange(p, at::kFloat).lt(p / 3).to(at::kFloat),
       particle_motion(), particle_motion()}};
  if (config.network.contact_guess) {
    const torch::Tensor guess_m = 0.05 * at::randn({n, 3});
    input.surface.newer_motion.narrow(1, 1, 3).add_(at::where(is_attached, 0.f, guess_m));
  }
  return input;
}

/// Heads that move things: an untrained model's are zero.
inline void PerturbHeads(WorldModel* model) {
  const at::NoGradGuard no_grad;
  at::manual_seed(6);
  for (const auto& item : model->named_parameters()) {
    if (item.key().rfind("head.", 0) == 0 && item.key().ends_with(".weight")) {
      item.value().copy_(0.05 * at::randn(item.value().sizes()));
    }
  }
}

/// Steps of a model with a contact_guess take all of it.
inline void TrustGuess(WorldModel* model) {
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    if (item.key() == "head.trust.bias") item.value().fill_(50);
  }
}

/// One with random weights, in its heads too.
inline std::unique_ptr<WorldModel> MakeMovingModel(const InterlacerConfig& config,
                                                   const WorldModelOptions& options = {},
                                                   std::uint64_t seed = 3) {
  auto model = std::make_unique<WorldModel>(config, options);
  InitializeWeights(model.get(), seed);
  PerturbHeads(model.get());
  return model;
}

/// Of the newest cloud of a scene that a predictor lifted, on the host.
inline torch::Tensor FeaturesOf(const Scene& scene) {
  return dynamic_cast<const LiftedScene&>(scene).newer.features.to(at::kCPU);
}

}  // namespace interlacer::testing
