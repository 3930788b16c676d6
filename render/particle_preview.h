#pragma once

/// Z-buffer picture of a cloud: every particle is drawn as a disc of its source colour, the nearest
/// one in front.
///
///   positions_m [n,3] world frame   colors_rgb8 [n,3]
/// A disc covers the pixels whose centres lie within `disc_radius_px` of the projected particle, at
/// the particle's depth; ties in depth: smaller index. The baseline that a learned renderer has to
/// beat. Deterministic, thread-safe.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH, ARGUMENT_INVALID and those of ValidateCamera. Particles
/// that are not finite or not in front of the camera are left out.

#include <cstdint>
#include <span>

#include "common/camera.h"
#include "common/image.h"
#include "common/status.h"

namespace interlacer {

struct PreviewOptions {
  /// 1.5 px fills the gaps of 32768 particles in a 320x240 view.
  double disc_radius_px = 1.5;
  double near_m = 0.01;  ///< least depth z
  std::uint8_t background = 255;
};

struct ParticlePreview {
  RgbImage color;
  DepthImage depth;  ///< z in metres, NaN where no particle covers the pixel
};

StatusOr<ParticlePreview> RenderParticlePreview(const Camera& camera,
                                                std::span<const float> positions_m,
                                                std::span<const std::uint8_t> colors_rgb8,
                                                const PreviewOptions& options = {});

}  // namespace interlacer
