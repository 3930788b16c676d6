#pragma once

/// Reference renderer, as plain as possible: brute force, one sample at a time, float64.
///
/// Oracle of the fast renderer and of its gradients; the gradients here are checked against finite
/// differences. Neighbours are chosen by the float32 `selection_positions_m`, so that values can be
/// perturbed in float64 while the choice stays.
///   positions_m [n,3]   features [n,feature_width]   weights [out,in]; all row-major
/// Pure functions, thread-safe. Arguments are not checked.

#include <cstdint>
#include <vector>

#include "render/composite.h"
#include "render/renderer.h"

namespace interlacer {

struct ReferenceField {
  std::vector<double> w1, b1, w2, b2, w3, b3;
};

struct ReferenceScene {
  RendererConfig config;
  std::vector<float> selection_positions_m;
  std::vector<double> positions_m;
  std::vector<double> features;
  ReferenceField field;
};

ReferenceScene MakeReferenceScene(const RendererConfig& config, std::span<const float> positions_m,
                                  std::span<const float> features, const FieldWeights& field);

/// Gradients of everything trainable, shaped as in ReferenceScene.
struct ReferenceGradients {
  std::vector<double> positions_m, features;
  ReferenceField field;
};
ReferenceGradients MakeZeroGradients(const ReferenceScene& scene);

/// Ray `r` of `rays`, background included; stops below `stop_transmittance`.
RayState<double> RenderReferenceRay(const ReferenceScene& scene, const RayBatch& rays,
                                    std::int64_t r, double stop_transmittance);
/// Adds the gradients of ray `r` (rendered without stop) for dL/d(rgb, distance, opacity) = grad.
void RenderReferenceRayBackward(const ReferenceScene& scene, const RayBatch& rays, std::int64_t r,
                                const RayGradient<double>& grad, ReferenceGradients& out);

}  // namespace interlacer
