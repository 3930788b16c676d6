#pragma once

/// Regularisation terms on the change of particles in a predicted step (ours; the paper's loss has
/// none).
///
/// An image hardly determines which of many motions of its particles is right: a wall of one colour
/// may slide along itself; a surface may be torn where neighbours part, and hidden again by
/// features that turn it into fog. Small weights of these terms prefer the simplest motion among
/// those with equal images. Errors: StatusException (model/runtime/torch_status.h). Threads: as
/// WorldModel.

#include <torch/types.h>

#include "model/clouds.h"

namespace interlacer {

struct CudaBackend;

/// Mean length in metres of the particles' displacements, smooth at zero; 0 for none.
torch::Tensor MeanDisplacement(const CloudTensors& from, const CloudTensors& to);

/// Mean length of the particles' feature changes, smooth at zero; 0 for none.
torch::Tensor MeanFeatureChange(const CloudTensors& from, const CloudTensors& to);

/// Change of the distances between neighbours since the observed cloud, [n,3] float32.
class Stretch {
 public:
  /// Neighbours of every particle; neighbours in `observed` stay neighbours for the whole rollout.
  static constexpr int kNeighborCount = 6;

  /// `cuda` is null on the host.
  explicit Stretch(const torch::Tensor& observed_m, const CudaBackend* cuda = nullptr);

  /// Mean over pairs of |distance - observed distance| in metres, at most kMostM each: neighbours
  /// that really part, such as a hand and the table under it, cost no more however far they go.
  /// Zero for fewer than two particles.
  torch::Tensor Mean(const torch::Tensor& positions_m) const;

  static constexpr double kMostM = 0.02;

 private:
  const CudaBackend* cuda_;
  torch::Tensor from_, to_;   // [pairs] int64, rows of the cloud
  torch::Tensor observed_m_;  // [pairs]
};

}  // namespace interlacer
