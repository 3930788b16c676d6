#pragma once

/// The distance of predicted particles to their true tracks (ours; the paper's loss is of images
/// alone).
///
/// Huber's loss of the distance d between predicted and true position, d^2 / (2 k) below k =
/// kTrackHuberM and d - k / 2 above, in metres. Its mean over the particles that move, 1 cm or more
/// at some step of the sequence, and its mean over those that do not weigh one half each: what
/// stands still is learnt as well as what moves, whatever their numbers. A group without particles
/// counts as zero; particles with unknown motion count in none.
/// Errors: StatusException (model/runtime/torch_status.h). Threads: as tensors.

#include <torch/types.h>

#include <vector>

#include "model/training/sample.h"

namespace interlacer {

struct CudaBackend;

inline constexpr double kTrackHuberM = 0.01;

class TrackLoss {
 public:
  /// `start_m` [n,3] are the positions in the newest observation. Nothing is known with empty
  /// tracks. `cuda` is null on the host.
  TrackLoss(const TrueTracks& tracks, const std::vector<float>& start_m, torch::Device device,
            const CudaBackend* cuda = nullptr);

  bool is_known() const { return known_.defined(); }
  /// Of predicted step `step`, from 1 on; a scalar with gradients to `positions_m` [n,3].
  torch::Tensor At(std::int64_t step, const torch::Tensor& positions_m) const;

 private:
  const CudaBackend* cuda_;
  torch::Tensor known_;                ///< [k] rows with known motion
  torch::Tensor weights_;              ///< [k] 1 / (2 x size of its group)
  std::vector<torch::Tensor> true_m_;  ///< [steps] of [k,3]
};

}  // namespace interlacer
