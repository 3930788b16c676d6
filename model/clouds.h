#pragma once

/// Values that pass between the parts of the model: clouds, the input of a step, its tokens,
/// rendered rays. Tensors are float32; positions in metres, world frame. Threads: as tensors.

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

/// A particle cloud, possibly with gradients: positions_m [n,3], features [n,feature_width],
/// float32.
struct CloudTensors {
  torch::Tensor positions_m;
  torch::Tensor features;
};

/// Copies coordinates in host memory to [n,3] on the device.
inline torch::Tensor RowsOf3(const std::vector<float>& values, torch::Device device) {
  return at::from_blob(const_cast<float*>(values.data()),
                       {static_cast<std::int64_t>(values.size() / 3), 3}, at::kFloat)
      .to(device, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

/// Number of times at which a step sees the robot.
inline constexpr int kKinematicTimes = 3;

/// What a step is told of the robot beside positions.
struct SurfaceInput {
  torch::Tensor normals;     ///< [3,p,3] unit
  torch::Tensor is_gripper;  ///< [p] 1 on the gripper and its fingers, else 0
  /// [n,4] of each particle: 1 and the displacement to the next time in metres where it is attached
  /// to the robot, else zeros; of the newer ones, with a contact_guess, else 0 and the guess.
  torch::Tensor older_motion, newer_motion;
};

/// Input of one dynamics step. `kinematic_points_m` is [3,p,3]: points on the robot's surface at
/// t-2, t-1 and t, with p = 0 for a scene without a robot. Positions are normalised by `workspace`,
/// the scene's own box (a recording may replace the configuration's).
struct StepInput {
  CloudTensors older;  ///< t-2
  CloudTensors newer;  ///< t-1
  torch::Tensor kinematic_points_m;
  Box workspace;
  /// Draws sampled walks and message-passing anchors. Training changes it at every step, so that no
  /// token is always an anchor; serving always uses 0, so that equal requests have equal answers.
  std::uint64_t graph_seed = 0;
  SurfaceInput surface{};
};

struct RenderedRays {
  torch::Tensor rgb;         ///< [r,3]
  torch::Tensor distance_m;  ///< [r] along the ray
  torch::Tensor opacity;     ///< [r]
};

/// The tokens of a step: h [T,d], positions [T,3], and how many there are of each kind.
struct TokenSet {
  torch::Tensor h;
  torch::Tensor positions_m;
  std::int64_t older_count = 0;      ///< visual, t-2
  std::int64_t newer_count = 0;      ///< visual, t-1
  std::int64_t kinematic_count = 0;  ///< at one time
  Box workspace;                     ///< contains most of them
};

}  // namespace interlacer
