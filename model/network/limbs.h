#pragma once

/// Points on the robot's surface, at which tokens of the robot lie, close to the particles that its
/// images give.
///
/// Rings of points lie on tubes around the segments between neighbouring bodies of an arm; both
/// fingers branch off the gripper, and all tubes have one radius: near the links' surface, and a
/// hand's breadth around the fingers. Only the bodies' origins are known: rings of the first time
/// start in an arbitrary direction, those of later times where the earlier ones lie, seen along the
/// segment. So a segment that turns by 0.1 (0.5) rad moves its points with an error of 0.2 (5) mm,
/// and the turn of a link about its own segment is not seen. Rings of a segment without length, or
/// parallel to the arbitrary direction, collapse onto the segment. Without rings the bodies'
/// origins are the points. Differentiable in the points. Deviation of ours: the papers speak of
/// kinematic particles and do not say where on the robot they lie. Threads: as torch modules.

#include <torch/nn/module.h>

#include "model/config.h"
#include "model/kernels/kinematic_tokens.h"

namespace interlacer {

class LimbSurface : public torch::nn::Module {
 public:
  LimbSurface(const KinematicConfig& robot, const TokenConfig& tokens);

  /// Bodies [times,bodies,3] -> [times,q,3], metres; q = 0 for a scene without a robot.
  torch::Tensor forward(const torch::Tensor& bodies_m) const;
  /// Copies attributes of bodies [times,bodies,a] to points [times,q,a]: each point gets those of
  /// the body at which its segment begins.
  torch::Tensor OfBodies(const torch::Tensor& attributes) const;
  /// The rings in the form of the kernels; the module must be in float32. Valid while it lives and
  /// does not move.
  LimbRings Rings() const;

 private:
  bool IsBare(const torch::Tensor& of_bodies) const;
  /// Splits bodies by arm: [times,bodies,...] -> [times,arms,bodies of an arm,...].
  torch::Tensor ByArm(const torch::Tensor& of_bodies) const;
  /// Selects the bodies at which segments begin. [times,segments,...]
  torch::Tensor Begins(const torch::Tensor& of_bodies) const;

  int arm_count_, bodies_per_arm_, ring_count_, ring_points_;
  torch::Tensor share_;          ///< [rings,1,1] fractions of the segment's length
  torch::Tensor cosine_, sine_;  ///< [ring points,1], metres
};

}  // namespace interlacer
