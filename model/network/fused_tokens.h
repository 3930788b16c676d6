#pragma once

/// The rows that the token layers read, written in one pass each (model/kernels/token_features.h,
/// kinematic_tokens.h), on torch tensors. Values are those of TokenEncoder's tensor form. No
/// gradients. On a device nothing waits. Errors: StatusException DEVICE_LOST. Threads: as torch
/// modules.

#include <torch/types.h>

#include "model/clouds.h"
#include "model/config.h"
#include "model/network/limbs.h"

namespace interlacer {

/// Times of the particles that a step sees.
inline constexpr int kVisualTimes = 2;

/// Of the kinematic context. Far from the robot the mean displacement fades to zero instead of
/// following the nearest point.
inline constexpr double kContextSoftening = 0.1;
inline constexpr double kContextMassFloor = 1e-6;
inline constexpr double kContextLogScale = 0.1;

/// Gradients are off, and the step is float32 in memory order, with the robot of `config` or none.
bool CanFuseTokens(const StepInput& input, const InterlacerConfig& config);

/// [older + newer,width]; `bandwidths_m` of the kinematic context, where the clouds are.
torch::Tensor FusedVisualRows(const StepInput& input, const InterlacerConfig& config,
                              const torch::Tensor& bandwidths_m);

struct RobotRows {
  torch::Tensor points_m;  ///< [3,q,3], LimbSurface::forward
  torch::Tensor rows;      ///< [3 q,width]
};

/// For a scene with a robot.
RobotRows FusedRobotRows(const StepInput& input, const InterlacerConfig& config,
                         const LimbSurface& limbs);

}  // namespace interlacer
