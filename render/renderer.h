#pragma once

/// Point-based NeRF: particles and rays in, colour, depth and opacity out, with a backward form.
///
/// Knows raw arrays only; the trainable MLP reaches it as weights. All arrays row-major float32.
///   positions_m [n,3]   features [n,feature_width]   rays: origin [3], unit direction [3], world
/// Math per science of the renderer: stratified samples between near and far, 16 nearest particles,
/// annular kernel sums with masses, MLP, front-to-back compositing on white.
/// A sample whose nearest particle is farther than `empty_radius_m` has density zero by definition,
/// in training and serving alike, so skipping empty space is exact.
/// Determinism: equal inputs give equal bits for any thread count. Threads: const methods may run
/// together. Errors: INVALID_ARGUMENT SHAPE_MISMATCH, NOT_FINITE.
/// Source: GRF masking paper App. C.3; HD-VPD (Whitney et al. 2024), VPD (2023).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/status.h"

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

/// MLP input width: kernels * feature_width + kernels.
inline int FieldInputWidth(const RendererConfig& c) {
  return static_cast<int>(c.kernel_radii_m.size()) * (c.feature_width + 1);
}

/// in -> hidden (ReLU) -> hidden (ReLU) -> 4; weights [out,in] row-major, as torch stores them.
/// Output 0: density logit (softplus, 1/m); 1..3: colour logits (sigmoid).
struct FieldWeights {
  std::span<const float> w1, b1, w2, b2, w3, b3;
};
struct FieldGradients {
  std::span<float> w1, b1, w2, b2, w3, b3;
};

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

/// What the backward pass needs of a forward pass; opaque.
class RenderTape;

class PointNerfRenderer {
 public:
  virtual ~PointNerfRenderer() = default;
  /// Copies and indexes a cloud; FieldWeights must outlive the calls that use them.
  virtual Status SetParticles(std::span<const float> positions_m,
                              std::span<const float> features) = 0;
  virtual Status Render(const FieldWeights& field, const RayBatch& rays,
                        const RayOutputs& out) const = 0;
  /// As Render with stop_transmittance 0, keeping what RenderBackward needs.
  virtual StatusOr<std::shared_ptr<const RenderTape>> RenderForTraining(
      const FieldWeights& field, const RayBatch& rays, const RayOutputs& out) const = 0;
  /// Accumulates (adds) gradients. grad_rgb [r,3], grad_distance [r], grad_opacity [r] (may be
  /// empty); position_grad [n,3], feature_grad [n,F] in the caller's particle order. Neighbour
  /// indices are constants of the backward pass.
  virtual Status RenderBackward(const FieldWeights& field, const RenderTape& tape,
                                std::span<const float> grad_rgb,
                                std::span<const float> grad_distance,
                                std::span<const float> grad_opacity, std::span<float> position_grad,
                                std::span<float> feature_grad,
                                const FieldGradients& field_grad) const = 0;
};

/// Fast CPU renderer (grid, skipping, blocked MLP).
std::unique_ptr<PointNerfRenderer> MakePointNerfRenderer(const RendererConfig& config);
/// Slow obvious twin: brute-force neighbours, one sample at a time, float64 inside.
std::unique_ptr<PointNerfRenderer> MakeReferenceRenderer(const RendererConfig& config);

}  // namespace interlacer
