#pragma once

/// Sorts particles so that neighbours in space are neighbours in memory; layers that gather
/// neighbours then find most of them in the cache. Differentiable in the cloud; the order itself is
/// a constant. Errors: StatusException NOT_FINITE in host memory; on a device positions are not
/// checked, because a check would wait. Threads: pure functions.

#include <torch/types.h>

#include "model/clouds.h"

namespace interlacer {

struct CudaBackend;

struct CloudOrder {
  torch::Tensor particle_at;  ///< [n] int64: the particle at each position in the order
  torch::Tensor place_of;     ///< [n] int64: the position of each particle in the order
};

/// Morton order (knn/spatial_order.h); particles of one cell keep their order.
CloudOrder SpatialOrder(const torch::Tensor& positions_m, const CudaBackend* cuda = nullptr);

/// Two clouds, each sorted by its SpatialOrder, and the order of the newer one.
struct OrderedClouds {
  CloudTensors older;
  CloudTensors newer;
  CloudOrder newer_order;
};
OrderedClouds InSpatialOrder(const CloudTensors& older, const CloudTensors& newer,
                             const CudaBackend* cuda = nullptr);

}  // namespace interlacer
