#pragma once

/// The point renderer as a differentiable tensor operation.
///
///   positions_m [n,3], features [n,F], field weights, float32; rays [r,3] constants
///   -> rgb [r,3], distance [r] in metres along the ray, opacity [r]
/// Gradients reach positions, features and field weights; neighbour indices are constants. Without
/// gradients the serving path runs (early stop, no tape).
/// Errors: StatusException from the renderer. Threads: may run together.
/// Formulas: render/renderer.h. Source: hd-vpd.

#include <torch/types.h>

#include "model/clouds.h"
#include "model/ops/field_tensors.h"
#include "render/renderer.h"

namespace interlacer {

struct CudaBackend;

FieldWeights ViewOf(const FieldTensors& field);

/// `jitter` [r,samples_per_ray] in [0,1), or undefined for the middle of each stratum. Without a
/// backend on the host.
RenderedRays RenderOp(const CloudTensors& cloud, const FieldTensors& field,
                      const torch::Tensor& origins_m, const torch::Tensor& directions,
                      const torch::Tensor& jitter, const RendererConfig& config,
                      const CudaBackend* cuda = nullptr);

}  // namespace interlacer
