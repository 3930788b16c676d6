#pragma once

/// What each step of a rollout or of a training sequence is told of the robot and of what it
/// touches, and where its particles are after it.
///
/// Times: 0 is t-2, 1 is t-1, the newest observation, 1 + s is that of step s, from 1 on. Nothing
/// but a guess waits for a device. Threads: as tensors.

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/clouds.h"
#include "model/lifting/carried_particles.h"
#include "model/lifting/kinematic_rows.h"
#include "robots/contact_guess.h"
#include "robots/robot.h"

namespace interlacer {

/// The time of the newest observation, of step 0.
inline constexpr std::size_t kNewestTime = 1;

/// An observed cloud and the links that its particles are attached to; none without link poses.
struct AttachedCloud {
  const CloudTensors& cloud;
  std::span<const std::int32_t> links;
};

class RobotSteps {
 public:
  /// `rows` of the times, empty for a scene without a robot. `robot` describes it and may be null
  /// in such a scene. Without `moves_exactly` no particle follows a link.
  RobotSteps(const Robot* robot, const KinematicRows& rows, bool moves_exactly,
             const AttachedCloud& older, const AttachedCloud& newer);

  /// Where a step takes objects of `contacts` if they follow what touches them: [n,3] displacements
  /// of `newer`, zero elsewhere. `touched` goes on with the step. On a device the host waits.
  torch::Tensor Guess(std::int64_t step, const CloudTensors& newer, const ContactGuess& contacts,
                      ContactRule::Touched* touched) const;
  /// Input of a step that goes on from these clouds. A guess, or an undefined tensor, stands where
  /// the robot's particles have their own displacement, without their flag.
  StepInput InputOf(std::int64_t step, const CloudTensors& older, const CloudTensors& newer,
                    const torch::Tensor& guess_m, const Box& workspace,
                    std::uint64_t graph_seed = 0) const;
  /// `predicted` with the robot's particles where the step takes them, and with their features as
  /// in `newer`.
  CloudTensors Place(std::int64_t step, const CloudTensors& predicted,
                     const CloudTensors& newer) const;
  /// The particles of a later cloud that follow no link.
  CloudTensors OthersOf(const CloudTensors& cloud) const { return newer_.OthersOf(cloud); }

 private:
  SurfaceInput SurfaceOf(std::int64_t step, const CloudTensors& older,
                         const CloudTensors& newer) const;

  torch::Tensor points_m_;              ///< [times,p,3]
  torch::Tensor normals_, is_gripper_;  ///< [times,p,3], [p]
  CarriedParticles older_, newer_;
  std::vector<std::vector<double>> joints_;  ///< [times][columns]
};

}  // namespace interlacer
