#pragma once

/// Input rows of the token layers, each kind written in one pass (model/kernels/token_features.h,
/// kinematic_tokens.h), on torch tensors. Values equal those of TokenEncoder's tensor operations.
/// No gradients. Nothing waits for a device. Errors: StatusException DEVICE_LOST. Threads: as torch
/// modules.

#include <torch/types.h>

#include "model/clouds.h"
#include "model/config.h"
#include "model/network/limbs.h"

namespace interlacer {

struct CudaBackend;

/// Number of times at which a step sees the particles.
inline constexpr int kVisualTimes = 2;

/// Softening of the kinematic context: far from the robot the mean displacement fades to zero
/// instead of following the nearest point.
inline constexpr double kContextSoftening = 0.1;
inline constexpr double kContextMassFloor = 1e-6;
inline constexpr double kContextLogScale = 0.1;

/// Features of a particle's own motion with the robot (WithRobotMotion in model/network/tokens.h).
inline constexpr int kRobotMotionWidth = 4;

/// Width of the clouds' features that the token layers see: the encoder's, with surface points
/// followed by the motion of attached particles (WithRobotMotion).
int VisualFeatureWidth(const InterlacerConfig& config);

/// Whether the fused form applies: gradients are off, and the step is contiguous float32 with the
/// robot of `config`, any robot's surface points, or none.
bool CanFuseTokens(const StepInput& input, const InterlacerConfig& config);

/// Rows of the particles [older + newer,width]; `bandwidths_m` of the kinematic context are on the
/// clouds' device.
torch::Tensor FusedVisualRows(const StepInput& input, const InterlacerConfig& config,
                              const torch::Tensor& bandwidths_m, const CudaBackend* cuda);

struct RobotRows {
  torch::Tensor points_m;  ///< [3,q,3], as LimbSurface::forward returns them
  torch::Tensor rows;      ///< [3 q,width]
};

/// Rows of the robot; the scene must have one.
RobotRows FusedRobotRows(const StepInput& input, const InterlacerConfig& config,
                         const LimbSurface& limbs, const CudaBackend* cuda);

/// Rows [3 p,width] of surface points; `attributes` [3,p,a] stand before their places.
torch::Tensor FusedSurfaceRows(const StepInput& input, const torch::Tensor& attributes,
                               const InterlacerConfig& config, const CudaBackend* cuda);

}  // namespace interlacer
