#pragma once

/// The point renderer in LibTorch's own operations: computes every sample, skips nothing, stops no
/// ray early. Differentiable by autograd in positions, features and field; the nearest particles of
/// the samples are an input. Formulas: render/renderer.h. Threads: LibTorch's.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "render/renderer.h"

namespace interlacer::bench {

/// w1, b1, w2, b2, w3, b3 as in render/radiance_field.h.
using EagerField = std::array<at::Tensor, 6>;

struct EagerRays {
  at::Tensor origins_m;    ///< [r,3]
  at::Tensor directions;   ///< [r,3]
  at::Tensor distances_m;  ///< [r,s] distances of the samples along their rays
};

/// Sample distances [r,s] with the offsets `jitter` [r,s] in [0,1), or in the middle of the strata
/// when undefined. They equal the renderer's to the bit, so that both find the same nearest
/// particles.
at::Tensor SampleDistances(const RendererConfig& config, std::int64_t ray_count,
                           const at::Tensor& jitter);
/// Sample positions [r,s,3].
at::Tensor SamplePoints(const EagerRays& rays);

/// Renders colours rgb [r,3] on white. `neighbors` [r,s,k] int64.
at::Tensor EagerRender(const RendererConfig& config, const at::Tensor& positions_m,
                       const at::Tensor& features, const EagerField& field, const EagerRays& rays,
                       const at::Tensor& neighbors);

}  // namespace interlacer::bench
