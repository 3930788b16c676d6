#pragma once

/// Argument checks shared by the renderers. Pure functions, thread-safe.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH, NOT_FINITE, ARGUMENT_INVALID.

#include <cstdint>

#include "render/renderer.h"

namespace interlacer {

Status CheckParticles(const RendererConfig& config, std::span<const float> positions_m,
                      std::span<const float> features);
/// Field, rays and outputs of a forward pass.
Status CheckRender(const RendererConfig& config, const FieldWeights& field, const RayBatch& rays,
                   const RayOutputs& out);
Status CheckBackward(const RendererConfig& config, const FieldWeights& field,
                     std::int64_t particle_count, std::int64_t ray_count,
                     std::span<const float> grad_rgb, std::span<const float> grad_distance,
                     std::span<const float> grad_opacity, std::span<const float> position_grad,
                     std::span<const float> feature_grad, const FieldGradients& field_grad);

}  // namespace interlacer
