#pragma once

/// Loss and gradients of one training sequence after the encoder, with 128 rays for each predicted
/// step: by our model, and by its eager peer, which is given walks and nearest particles. Equal
/// options give equal problems. Errors: c10::Error. Threads: LibTorch's.

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/peers/eager_model.h"

namespace interlacer::bench {

inline constexpr std::int64_t kTrainRays = 128;

/// Constants of the sequence; the clouds' features come from the encoder and get gradients.
struct Sequence {
  StepInput first;
  torch::Tensor kinematic_points_m;  ///< [2 + steps,p,3]
  torch::Tensor origins_m, directions, jitter, target_rgb;

  std::int64_t steps() const { return kinematic_points_m.size(0) - 2; }
};

Sequence MakeSequence(const Options& options, const InterlacerConfig& config);
/// Converts a sequence to another type or device; its features become leaves of autograd.
Sequence CastSequence(const Sequence& sequence, const at::TensorOptions& to);

struct LossAndGradients {
  double loss = 0;
  /// Gradients by parameter name; those of the two inputs are "older" and "newer".
  std::map<std::string, torch::Tensor> gradients;

  /// All gradients as one vector in float64 on the host.
  torch::Tensor Flat() const;
};

/// Mean over the steps of the mean squared error of colours. `clouds` receives the predicted
/// clouds.
LossAndGradients OurGradients(WorldModel* model, const Sequence& sequence,
                              std::vector<CloudTensors>* clouds = nullptr);

/// Inputs of the eager peer: the walks and nearest particles of our own run.
struct Given {
  std::vector<WalkIndices> walks;
  std::vector<torch::Tensor> neighbors;  ///< [r,s,16] for each step
  EagerRays rays;
};

/// Inputs for a peer whose tensors are `to`.
Given MakeGiven(const RendererConfig& config, const Sequence& sequence,
                const std::vector<CloudTensors>& clouds, const at::TensorOptions& to);

LossAndGradients EagerGradients(const EagerModel& twin, const RendererConfig& config,
                                const Sequence& sequence, const Given& given, WalkForm form);

}  // namespace interlacer::bench
