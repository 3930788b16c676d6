#pragma once

/// A world model with random weights and inputs of a step, shared by `step`, `train_step` and
/// `update`. Equal options give equal problems.

#include <torch/types.h>

#include <memory>

#include "bench/model_place.h"
#include "bench/options.h"
#include "bench/peers/eager_walks.h"
#include "model/network/world_model.h"

namespace interlacer::bench {

/// The `paper` configuration at width `d` with the given local layer, message passing at equal
/// size; the robot is represented by its 20 bodies, as context of the particles, and all tokens are
/// in one graph.
InterlacerConfig ModelConfig(const Options& options, LocalLayer local);
/// A model of this configuration on the device, with heads that move particles.
std::shared_ptr<WorldModel> MakeModel(const Options& options, LocalLayer local,
                                      const ModelDevice& place = {}, bool recompute_blocks = false);
/// Robot points [times,p,3] in metres: bodies at random places over the table, all in uniform
/// motion.
torch::Tensor RobotPoints(const Options& options, const InterlacerConfig& config,
                          std::int64_t times);
/// Clouds of two times and a moving robot.
StepInput MakeStepInput(const Options& options, const InterlacerConfig& config);

/// Converts the inputs to another type or device.
StepInput CastInput(const StepInput& input, const at::TensorOptions& to);
/// Walks over the tokens of a step in the token order of EagerModel, computed on the host.
WalkIndices WalksOfStep(const StepInput& input, const at::TensorOptions& to);

/// Floating-point operations of the dense layers of one step; a multiply-add counts as two.
double DenseFlops(const InterlacerConfig& config, double tokens);

}  // namespace interlacer::bench
