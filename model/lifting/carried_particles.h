#pragma once

/// Particles of a cloud that belong to the robot, and where the motion of its links takes them.
///
/// Every position is computed in float64 from the one that was observed,
/// world_from_link(now) * inverse(world_from_link(then)) * x, so that nothing drifts or tears,
/// however many steps follow; while a link stays, its particles keep their bits. On a device
/// nothing waits. Without gradients: positions of the robot are given. The slow form is CarryPoints
/// of robots/attachment.h. Threads: as tensors.

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/geometry.h"
#include "model/clouds.h"

namespace interlacer {

class CarriedParticles {
 public:
  /// No particles.
  CarriedParticles() = default;
  /// Those of a cloud `positions_m` [n,3] that `links` [n] attaches to a link (AttachPoints).
  /// `link_poses` [times][links] are world_from_link; the cloud was observed at the time
  /// `observed`. Without links or poses: none.
  CarriedParticles(std::span<const std::int32_t> links, const torch::Tensor& positions_m,
                   std::span<const std::vector<Transform>> link_poses, std::size_t observed);

  bool empty() const { return !rows_.defined(); }
  /// Their rows of the cloud, ascending. [a] int64
  const torch::Tensor& rows() const { return rows_; }
  /// [a,3] float64, metres, world frame.
  torch::Tensor PositionsAt(std::int64_t time) const;
  /// `predicted` with these particles where they are at `time` and with the features of `before`.
  CloudTensors PlaceInto(const CloudTensors& predicted, const CloudTensors& before,
                         std::int64_t time) const;
  /// All other particles of a cloud with the same rows.
  CloudTensors OthersOf(const CloudTensors& cloud) const;

 private:
  torch::Tensor rows_, links_;  ///< [a] int64
  torch::Tensor others_;        ///< [n - a] int64, rows
  torch::Tensor observed_m_;    ///< [a,3] float64
  torch::Tensor motions_;       ///< [times,links,3,4] float64, since the observation
  torch::Tensor has_moved_;     ///< [times,links,1] bool
};

}  // namespace interlacer
