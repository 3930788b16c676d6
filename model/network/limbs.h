#pragma once

/// The robot's surface as points: where its pictures have particles, tokens of the robot should
/// lie.
///
/// Rings of points on tubes around the segments between neighbouring bodies of an arm, both fingers
/// branching off the gripper, all tubes of one radius: near the links' surface, and a hand's
/// breadth around the fingers. Only the bodies' origins are known: the rings of the first time
/// begin anywhere, those of later times where the earlier ones lie, seen along the segment. So a
/// segment that turns by 0.1 (0.5) rad takes its points along to 0.2 (5) mm, and the turn of a link
/// about its own segment is not seen. Rings of a segment without length, or along the arbitrary
/// beginning, fall on the segment. With no rings the bodies' origins themselves are the points.
/// Differentiable in the points. Deviation of ours: the papers speak of kinematic particles and do
/// not say where on the robot they lie. Threads: as torch modules.

#include <torch/nn/module.h>

#include "model/config.h"
#include "model/kernels/kinematic_tokens.h"

namespace interlacer {

class LimbSurface : public torch::nn::Module {
 public:
  LimbSurface(const KinematicConfig& robot, const TokenConfig& tokens);

  /// Bodies [times,bodies,3] -> [times,q,3], metres; q = 0 for a scene without a robot.
  torch::Tensor forward(const torch::Tensor& bodies_m) const;
  /// Attributes of bodies [times,bodies,a] -> of points [times,q,a]: those of the body at which the
  /// point's segment begins.
  torch::Tensor OfBodies(const torch::Tensor& attributes) const;
  /// The same for kernels; the module must be in float32. Valid while it lives and does not move.
  LimbRings Rings() const;

 private:
  bool IsBare(const torch::Tensor& of_bodies) const;
  /// [times,bodies,...] -> [times,arms,bodies of an arm,...]
  torch::Tensor ByArm(const torch::Tensor& of_bodies) const;
  /// Of the bodies at which segments begin. [times,segments,...]
  torch::Tensor Begins(const torch::Tensor& of_bodies) const;

  int arm_count_, bodies_per_arm_, ring_count_, ring_points_;
  torch::Tensor share_;          ///< [rings,1,1] of the segment's length
  torch::Tensor cosine_, sine_;  ///< [ring points,1], metres
};

}  // namespace interlacer
