#pragma once

/// The point renderer written with LibTorch's own operations: every sample, nothing skipped, no ray
/// stopped. Differentiable by autograd in positions, features and field; the nearest particles of
/// the samples come from outside. Formulas: render/renderer.h. Threads: LibTorch's.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "render/renderer.h"

namespace interlacer::bench {

/// w1, b1, w2, b2, w3, b3 of render/radiance_field.h.
using EagerField = std::array<at::Tensor, 6>;

struct EagerRays {
  at::Tensor origins_m;    ///< [r,3]
  at::Tensor directions;   ///< [r,3]
  at::Tensor distances_m;  ///< [r,s] of the samples along their rays
};

/// [r,s] with the offsets `jitter` [r,s] in [0,1), or the middles of the strata when undefined; to
/// the bit those of the renderer, so that both find the same nearest particles.
at::Tensor SampleDistances(const RendererConfig& config, std::int64_t ray_count,
                           const at::Tensor& jitter);
/// [r,s,3]
at::Tensor SamplePoints(const EagerRays& rays);

/// rgb [r,3] on white. `neighbors` [r,s,k] int64.
at::Tensor EagerRender(const RendererConfig& config, const at::Tensor& positions_m,
                       const at::Tensor& features, const EagerField& field, const EagerRays& rays,
                       const at::Tensor& neighbors);

}  // namespace interlacer::bench
