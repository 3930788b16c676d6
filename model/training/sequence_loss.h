#pragma once

/// The loss of one sequence: encode, lift, roll out, render rays, compare colours.
///
/// Mean over rays and channels of (rendered - target)^2 for every view set, 0 where none of its
/// pixels is supervised, averaged over the predicted steps (all with the same weight) and the
/// reconstruction (with its own weight), plus
/// options that the paper does not have: depth of the same rays, the distance of particles to their
/// true tracks (track_loss.h), random colours behind the rays, and regularisation terms on the
/// change of particles (motion_regularization.h). With exact robot motion the robot's particles
/// follow its links as in a rollout, outside of the terms on displacement and feature change, and a
/// sequence without a robot stands still. A contact_guess is a constant of the gradient. Gradients
/// reach encoder, tokens, Interlacer, heads and radiance field through positions and features.
/// Errors: StatusException (model/runtime/torch_status.h). Threads: as WorldModel. Source: hd-vpd;
/// grf-masking, App. C.3.

#include <torch/types.h>

#include "model/training/sample.h"

namespace interlacer {

class WorldModel;

/// Weights of the regularisation terms (motion_regularization.h) in each predicted step.
struct MotionRegularization {
  double displacement = 0;    ///< per metre
  double stretch = 0;         ///< per metre
  double feature_change = 0;  ///< per unit of length
};

struct SequenceLossOptions {
  int ray_count = 128;
  double moving_ray_share = 0;
  double reconstruction_weight = 0;
  bool shows_start = false;        ///< computes `reconstruction`, and nothing else, at weight 0 too
  double video_weight = 1;         ///< of each predicted step; 0 renders none
  double depth_weight = 0;         ///< per metre, in each rendered step
  double track_weight = 0;         ///< per metre, in each predicted step with known tracks
  bool random_background = false;  ///< behind rays; what leaves the workspace has its colour
  MotionRegularization regularization;
  bool jitter_depth = true;
  /// Largest standard deviation of the noise in the positions of the reconstructed view.
  double reconstruction_jitter_m = 0;
  std::uint64_t seed = 0;
  std::uint32_t draw_index = 0;
};

struct SequenceLoss {
  torch::Tensor total;
  double reconstruction = 0;  ///< 0 when its weight is 0, unless shows_start
  double prediction = 0;      ///< mean over predicted steps
  double depth_m = 0;         ///< mean depth term of all steps with a weight, without its own
  double track_m = 0;         ///< mean track loss of the predicted steps, without its weight
  double still_track_m = 0;   ///< the same of the prediction that nothing moves
};

SequenceLoss ComputeSequenceLoss(WorldModel* model, const TrainingSample& sample,
                                 const SequenceLossOptions& options);

}  // namespace interlacer
