#pragma once

/// Point-based NeRF: particles and rays in, colour, depth and opacity out, with a backward form.
///
/// Works on raw arrays; the trainable MLP is passed as weights. All arrays row-major float32.
///   positions_m [n,3]   features [n,feature_width]   rays: origin [3], unit direction [3], world
/// Math per sample: 16 nearest particles, annular kernel sums with masses (annular_kernels.h), MLP
/// (radiance_field.h); per ray: front-to-back compositing on white (composite.h).
/// Nearest means smallest float32 dx*dx + dy*dy + dz*dz, summed in that order; ties: smaller index.
/// A sample whose nearest particle is farther than `empty_radius_m` has density zero by definition,
/// in training and serving alike, so skipping empty space is exact.
/// Determinism: equal inputs give equal bits for any thread count on one machine.
/// Threads: const methods may run together; SetParticles may not run with anything.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH, NOT_FINITE, CONFIG_INVALID, ARGUMENT_INVALID.
/// Source: grf-masking, App. C.3; hd-vpd; vpd.

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "common/status.h"
#include "render/radiance_field.h"

namespace interlacer {

struct RendererConfig {
  int feature_width = 16;
  int neighbor_count = 16;
  std::vector<float> kernel_radii_m{0.f, .01f, .02f, .05f};
  std::vector<float> kernel_bandwidths_m{.01f, .01f, .01f, .05f};
  float empty_radius_m = 0.175f;
  int samples_per_ray = 64;
  int hidden_width = 128;
  float near_m = 0.1f;
  float far_m = 2.0f;
  /// Serving stops a ray below this transmittance; 0 = never (training).
  float stop_transmittance = 1e-4f;
  /// False visits every sample; the image is the same.
  bool skip_empty_space = true;
};

/// Counts within 1..{64, 16, 8 kernels, 1024 samples, 512 hidden}, lengths positive and finite,
/// near < far, as many bandwidths as radii; else CONFIG_INVALID.
Status ValidateRendererConfig(const RendererConfig& config);

/// Configuration for another depth range: the spacing of samples along a ray stays that of the
/// configuration, with at most 256 samples. The caller checks that near < far.
inline RendererConfig RendererForRange(const RendererConfig& config, float near_m, float far_m) {
  constexpr int kMaxSamples = 256;
  RendererConfig result = config;
  result.near_m = near_m;
  result.far_m = far_m;
  const float ratio = (far_m - near_m) / (config.far_m - config.near_m);
  result.samples_per_ray =
      std::clamp(static_cast<int>(std::lround(ratio * static_cast<float>(config.samples_per_ray))),
                 1, kMaxSamples);
  return result;
}

/// MLP input width: kernels * feature_width + kernels.
inline int FieldInputWidth(const RendererConfig& c) {
  return static_cast<int>(c.kernel_radii_m.size()) * (c.feature_width + 1);
}

struct RayBatch {
  std::span<const float> origins_m;   ///< [r,3]
  std::span<const float> directions;  ///< [r,3], unit
  /// [r,samples] offsets xi in [0,1); empty means 1/2 (serving).
  std::span<const float> jitter;
};

/// [r,3], [r] (expected ray distance t, far where empty), [r] (1 - transmittance)
struct RayOutputs {
  std::span<float> rgb, distance_m, opacity;
};

/// What the backward pass needs of a forward pass; opaque. Keeps its own cloud alive, so it stays
/// valid after the next SetParticles. Belongs to the renderer class that made it.
class RenderTape {
 public:
  virtual ~RenderTape() = default;
};

class PointNerfRenderer {
 public:
  virtual ~PointNerfRenderer() = default;
  /// Copies and indexes a cloud; replaces the previous one. n = 0 is an all-white scene.
  virtual Status SetParticles(std::span<const float> positions_m,
                              std::span<const float> features) = 0;
  virtual Status Render(const FieldWeights& field, const RayBatch& rays,
                        const RayOutputs& out) const = 0;
  /// As Render with stop_transmittance 0, keeping what RenderBackward needs.
  virtual StatusOr<std::shared_ptr<const RenderTape>> RenderForTraining(
      const FieldWeights& field, const RayBatch& rays, const RayOutputs& out) const = 0;
  /// Accumulates (adds) gradients. `field` must hold the weights of the forward pass. grad_rgb
  /// [r,3], grad_distance [r], grad_opacity [r]: empty means zero. position_grad [n,3],
  /// feature_grad [n,F] in the caller's particle order: empty means not wanted. Neighbour indices
  /// are constants of the backward pass.
  virtual Status RenderBackward(const FieldWeights& field, const RenderTape& tape,
                                std::span<const float> grad_rgb,
                                std::span<const float> grad_distance,
                                std::span<const float> grad_opacity, std::span<float> position_grad,
                                std::span<float> feature_grad,
                                const FieldGradients& field_grad) const = 0;
};

/// Fast CPU renderer (box tree, skipping, blocked MLP). The config must be valid.
std::unique_ptr<PointNerfRenderer> MakePointNerfRenderer(const RendererConfig& config);
/// Slow reference renderer: brute-force neighbours, one sample at a time, float64 inside.
std::unique_ptr<PointNerfRenderer> MakeReferenceRenderer(const RendererConfig& config);

}  // namespace interlacer
