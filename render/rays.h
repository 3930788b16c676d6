#pragma once

/// Rays of camera pixels and the samples along them.
///
/// Directions are unit vectors in the world frame, so the ray parameter t is Euclidean distance
/// from the camera centre in metres; depth along the optical axis is t * depth_per_distance. Sample
/// s of S lies at t_s = near + (s + xi_s)(far - near)/S, xi in [0,1): random in training (Philox
/// stream 3), 1/2 in serving. Deterministic, pure functions, thread-safe. Errors: INVALID_ARGUMENT
/// of ValidateCamera; OUT_OF_RANGE ARGUMENT_INVALID for a pixel outside.

#include <cstdint>
#include <span>
#include <vector>

#include "common/camera.h"
#include "common/status.h"
#include "render/renderer.h"

namespace interlacer {

struct PixelRays {
  std::vector<float> origins_m;           ///< [r,3]
  std::vector<float> directions;          ///< [r,3], unit
  std::vector<float> depth_per_distance;  ///< [r], cosine to the optical axis

  std::int64_t count() const { return static_cast<std::int64_t>(depth_per_distance.size()); }
  RayBatch batch(std::span<const float> jitter = {}) const {
    return {origins_m, directions, jitter};
  }
};

/// Rays of pixels, index = row * width + column; lens distortion is undone.
StatusOr<PixelRays> MakePixelRays(const Camera& camera, std::span<const std::int64_t> pixels);

/// Offsets xi [ray_count,samples_per_ray] of one draw (a training step, say).
std::vector<float> DrawDepthJitter(std::uint64_t seed, std::uint32_t draw, std::int64_t ray_count,
                                   int samples_per_ray);

/// t_s of sample s.
inline float SampleDistance(const RendererConfig& config, int s, float xi) {
  const float step_m = (config.far_m - config.near_m) / static_cast<float>(config.samples_per_ray);
  return config.near_m + (static_cast<float>(s) + xi) * step_m;
}

}  // namespace interlacer
