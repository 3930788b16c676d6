#pragma once

/// The robot's surface as points: where its pictures have particles, tokens of the robot should
/// lie.
///
/// Rings of points on tubes around the segments between neighbouring bodies of an arm, the fingers
/// branching off the gripper. Only the bodies' origins are known, so a point keeps its place on its
/// tube by the shortest turn from time to time; the turn of a link about its own segment is not
/// seen. With no rings the bodies' origins themselves are the points.
/// Differentiable in the points. Deviation of ours: the papers speak of kinematic particles and do
/// not say where on the robot they lie. Threads: as torch modules.

#include <torch/nn/module.h>

#include "model/config.h"

namespace interlacer {

class LimbSurface : public torch::nn::Module {
 public:
  LimbSurface(const KinematicConfig& robot, const TokenConfig& tokens);

  /// Bodies [times,bodies,3] -> [times,q,3], metres; q = 0 for a scene without a robot.
  torch::Tensor forward(const torch::Tensor& bodies_m) const;
  /// Attributes of bodies [times,bodies,a] -> of points [times,q,a]: those of the body at which the
  /// point's segment begins.
  torch::Tensor OfBodies(const torch::Tensor& attributes) const;

 private:
  bool IsBare(const torch::Tensor& of_bodies) const;

  int ring_count_;
  torch::Tensor start_, end_;    ///< [segments] int64
  torch::Tensor body_;           ///< [q] int64
  torch::Tensor share_;          ///< [rings,1,1] of the segment's length
  torch::Tensor cosine_, sine_;  ///< [ring points,1], metres
};

}  // namespace interlacer
