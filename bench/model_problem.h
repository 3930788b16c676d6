#pragma once

/// A world model of random weights with a step to compute: shared by `step`, `train_step` and
/// `update`. Equal options give equal problems.

#include <torch/types.h>

#include <memory>

#include "bench/options.h"
#include "bench/peers/eager_walks.h"
#include "model/network/world_model.h"

namespace interlacer::bench {

/// The `paper` configuration at width `d` with the given local layer, message passing at equal
/// size; the robot is its 20 bodies, seen by the particles around them, and all tokens are in one
/// graph.
InterlacerConfig ModelConfig(const Options& options, LocalLayer local);
/// A model of it on the device; heads that move things.
std::shared_ptr<WorldModel> MakeModel(const Options& options, LocalLayer local,
                                      torch::Device device = at::kCPU,
                                      bool recompute_blocks = false);
/// [times,p,3], metres: bodies anywhere over the table, all moving evenly.
torch::Tensor RobotPoints(const Options& options, const InterlacerConfig& config,
                          std::int64_t times);
/// Clouds of two times and a moving robot.
StepInput MakeStepInput(const Options& options, const InterlacerConfig& config);

/// The same step in another type or elsewhere.
StepInput CastInput(const StepInput& input, const at::TensorOptions& to);
/// Walks over the tokens of a step, in the order in which EagerModel has them; found on the host.
WalkIndices WalksOfStep(const StepInput& input, const at::TensorOptions& to);

/// Operations of the dense layers of one step, two for a multiplication with an addition.
double DenseFlops(const InterlacerConfig& config, double tokens);

}  // namespace interlacer::bench
