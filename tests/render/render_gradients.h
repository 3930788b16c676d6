#pragma once

/// Losses, gradients and what they must be, for the renderer's tests on every device.

#include <gtest/gtest.h>

#include <vector>

#include "render/reference_renderer.h"
#include "tests/render/render_scene.h"
#include "tests/support/gradient_follows.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

struct RenderGradients {
  std::vector<float> positions_m, features;
  RandomField field;
  bool operator==(const RenderGradients&) const = default;
};

inline RenderGradients ZeroGradients(const RendererConfig& config, const Cloud& cloud) {
  return {std::vector<float>(cloud.positions_m.size()), std::vector<float>(cloud.features.size()),
          MakeZeroField(config)};
}

/// A random loss, linear in the outputs of all rays: its gradients.
inline Picture RandomLoss(std::size_t ray_count, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Picture loss(ray_count);
  loss.rgb = RandomNormals(3 * ray_count, 1.0, random);
  loss.distance_m = RandomNormals(ray_count, 1.0, random);
  loss.opacity = RandomNormals(ray_count, 1.0, random);
  return loss;
}

/// By the float64 twin.
inline ReferenceGradients ReferenceBackward(const ReferenceScene& scene, const Rays& rays,
                                            const Picture& loss) {
  ReferenceGradients gradients = MakeZeroGradients(scene);
  for (std::size_t r = 0; r < rays.count(); ++r) {
    const RayGradient<double> grad{{loss.rgb[3 * r], loss.rgb[3 * r + 1], loss.rgb[3 * r + 2]},
                                   loss.distance_m[r],
                                   loss.opacity[r]};
    RenderReferenceRayBackward(scene, rays.batch(), r, grad, gradients);
  }
  return gradients;
}

template <typename T>
void ExpectGradientClose(const char* what, const std::vector<float>& got,
                         const std::vector<T>& expected) {
  if (RelativeL2(expected, std::vector<T>(expected.size())) == 0) {
    for (const float x : got) ASSERT_EQ(x, 0.F) << what;
    return;
  }
  SCOPED_TRACE(what);
  ExpectGradientFollows(got, expected);
}

/// `expected` is of another renderer, or ReferenceGradients.
template <typename Expected>
void ExpectGradientsClose(const RenderGradients& got, const Expected& expected) {
  ExpectGradientClose("positions", got.positions_m, expected.positions_m);
  ExpectGradientClose("features", got.features, expected.features);
  ExpectGradientClose("w1", got.field.w1, expected.field.w1);
  ExpectGradientClose("b1", got.field.b1, expected.field.b1);
  ExpectGradientClose("w2", got.field.w2, expected.field.w2);
  ExpectGradientClose("b2", got.field.b2, expected.field.b2);
  ExpectGradientClose("w3", got.field.w3, expected.field.w3);
  ExpectGradientClose("b3", got.field.b3, expected.field.b3);
}

}  // namespace interlacer::testing
