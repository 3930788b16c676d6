#pragma once

/// Particles in an order in which neighbours in space are neighbours in memory, so that layers that
/// gather neighbours find most of them in the cache. Differentiable in the cloud; the order itself
/// is a constant. Errors: StatusException NOT_FINITE, in host memory; on a device positions are not
/// checked, for that would wait. Threads: pure functions.

#include <torch/types.h>

#include "model/clouds.h"

namespace interlacer {

struct CloudOrder {
  torch::Tensor particle_at;  ///< [n] int64: the particle at each place
  torch::Tensor place_of;     ///< [n] int64: the place of each particle
};

/// Morton order (knn/spatial_order.h); particles of one cell keep their order.
CloudOrder SpatialOrder(const torch::Tensor& positions_m);

/// Two clouds, each in its SpatialOrder, and the order of the newer one.
struct OrderedClouds {
  CloudTensors older;
  CloudTensors newer;
  CloudOrder newer_order;
};
OrderedClouds InSpatialOrder(const CloudTensors& older, const CloudTensors& newer);

}  // namespace interlacer
