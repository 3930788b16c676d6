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

/// Motion of the robot in a step.
inline constexpr double kRobotMoveM = 0.01;
/// Points of the robot at one time: 60 tokens besides the particles.
inline constexpr int kRobotPoints = 20;

/// The `paper` configuration at width `d` with the given local layer, message passing at equal
/// size; all tokens are in one graph, and the network moves all particles.
InterlacerConfig ModelConfig(const Options& options, LocalLayer local);
/// A model of this configuration on the device, with heads that move particles.
std::shared_ptr<WorldModel> MakeModel(const Options& options, const InterlacerConfig& config,
                                      const ModelDevice& place = {}, bool recompute_blocks = false);
std::shared_ptr<WorldModel> MakeModel(const Options& options, LocalLayer local,
                                      const ModelDevice& place = {}, bool recompute_blocks = false);
/// Robot points [times,p,3] in metres, at random places over the table, all in uniform motion.
torch::Tensor RobotPoints(const Options& options, std::int64_t times);
/// Clouds of two times and a moving robot.
StepInput MakeStepInput(const Options& options, const InterlacerConfig& config);

/// Converts the inputs to another type or device.
StepInput CastInput(const StepInput& input, const at::TensorOptions& to);
/// Walks over the tokens of a step in the token order of EagerModel, computed on the host.
WalkIndices WalksOfStep(const StepInput& input, const at::TensorOptions& to);

/// Floating-point operations of the dense layers of one step; a multiply-add counts as two.
double DenseFlops(const InterlacerConfig& config, double tokens);

}  // namespace interlacer::bench
