#include <gtest/gtest.h>

#include "common/thread_pool.h"
#include "render/cpu_kernels.h"
#include "render/point_nerf_renderer.h"
#include "render/reference_renderer.h"
#include "tests/render/render_gradients.h"
#include "tests/render/render_scene.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

RendererConfig GradientConfig() {
  RendererConfig config;
  config.hidden_width = 16;
  config.samples_per_ray = 24;
  return config;
}

constexpr std::uint64_t kLossSeed = 41;

/// Of all rays' outputs, linear.
double LossOf(const Picture& loss, const ReferenceScene& scene, const Rays& rays) {
  double sum = 0;
  for (std::size_t r = 0; r < rays.count(); ++r) {
    const RayState<double> ray = RenderReferenceRay(scene, rays.batch(), r, 0.0);
    for (int c = 0; c < 3; ++c) sum += loss.rgb[3 * r + c] * ray.rgb[c];
    sum += loss.distance_m[r] * ray.distance_m + loss.opacity[r] * (1 - ray.transmittance);
  }
  return sum;
}

/// Every third value of `values` against central differences.
void ExpectDifferencesAgree(const char* what, ReferenceScene& scene, std::vector<double>& values,
                            const std::vector<double>& gradient, const Picture& loss,
                            const Rays& rays) {
  constexpr double kStep = 1e-5;
  std::vector<double> expected, got;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = LossOf(loss, scene, rays);
    values[i] = value - kStep;
    const double below = LossOf(loss, scene, rays);
    values[i] = value;
    expected.push_back((above - below) / (2 * kStep));
    got.push_back(gradient[i]);
  }
  EXPECT_GT(RelativeL2(expected, std::vector<double>(expected.size(), 0.0)), 1e-3) << what;
  EXPECT_LE(RelativeL2(got, expected), kDoubleGradientTolerance) << what;
}

TEST(ReferenceGradientTest, EqualsCentralDifferences) {
  RendererConfig config = GradientConfig();
  config.feature_width = 3;
  config.hidden_width = 8;
  const Cloud cloud = MakeRandomCloud(40, 3, 42, 0.1);
  const RandomField field = MakeRandomField(config, 43);
  const Rays rays = MakeRandomRays(4, config.samples_per_ray, 44);
  ReferenceScene scene =
      MakeReferenceScene(config, cloud.positions_m, cloud.features, field.weights());
  const Picture loss = RandomLoss(rays.count(), kLossSeed);
  const ReferenceGradients gradients = ReferenceBackward(scene, rays, loss);
  ExpectDifferencesAgree("positions", scene, scene.positions_m, gradients.positions_m, loss, rays);
  ExpectDifferencesAgree("features", scene, scene.features, gradients.features, loss, rays);
  ExpectDifferencesAgree("w1", scene, scene.field.w1, gradients.field.w1, loss, rays);
  ExpectDifferencesAgree("b1", scene, scene.field.b1, gradients.field.b1, loss, rays);
  ExpectDifferencesAgree("w2", scene, scene.field.w2, gradients.field.w2, loss, rays);
  ExpectDifferencesAgree("b2", scene, scene.field.b2, gradients.field.b2, loss, rays);
  ExpectDifferencesAgree("w3", scene, scene.field.w3, gradients.field.w3, loss, rays);
  ExpectDifferencesAgree("b3", scene, scene.field.b3, gradients.field.b3, loss, rays);
}

RenderGradients MustDifferentiate(PointNerfRenderer& renderer, const RendererConfig& config,
                                  const Cloud& cloud, const RandomField& field, const Rays& rays) {
  EXPECT_TRUE(renderer.SetParticles(cloud.positions_m, cloud.features).ok());
  Picture picture(rays.count());
  auto tape = Must(renderer.RenderForTraining(field.weights(), rays.batch(), picture.outputs()));
  const Picture loss = RandomLoss(rays.count(), kLossSeed);
  RenderGradients g = ZeroGradients(config, cloud);
  const Status status =
      renderer.RenderBackward(field.weights(), *tape, loss.rgb, loss.distance_m, loss.opacity,
                              g.positions_m, g.features, g.field.gradients());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return g;
}

class RendererGradientTest : public ::testing::TestWithParam<const RenderKernels* (*)()> {
 protected:
  void SetUp() override {
    kernels_ = GetParam()();
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine lacks the instructions";
  }
  void ExpectLikeReference(const RendererConfig& config, const Cloud& cloud, const Rays& rays) {
    const RandomField field = MakeRandomField(config, 45);
    const RenderGradients got = MustDifferentiate(*MakePointNerfRendererWith(config, *kernels_),
                                                  config, cloud, field, rays);
    const RenderGradients expected =
        MustDifferentiate(*MakeReferenceRenderer(config), config, cloud, field, rays);
    ExpectGradientsClose(got, expected);
  }

  const RenderKernels* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(
    Kernels, RendererGradientTest,
    ::testing::Values([]() -> const RenderKernels* { return &PortableRenderKernels(); },
                      Avx2RenderKernels, Avx512RenderKernels));

TEST_P(RendererGradientTest, EqualsReference) {
  const RendererConfig config = GradientConfig();
  ExpectLikeReference(config, MakeRandomCloud(600, 16, 46),
                      MakeRandomRays(70, config.samples_per_ray, 47));
}

TEST_P(RendererGradientTest, EqualsReferenceForOddWidthsAndFewParticles) {
  RendererConfig config = GradientConfig();
  config.feature_width = 5;
  config.hidden_width = 21;
  config.kernel_radii_m = {0.f, .05f, .1f};
  config.kernel_bandwidths_m = {.05f, .05f, .1f};
  ExpectLikeReference(config, MakeRandomCloud(9, 5, 48, 0.15),
                      MakeRandomRays(50, config.samples_per_ray, 49));
}

TEST_P(RendererGradientTest, ThreadsChangeNoBit) {
  const RendererConfig config = GradientConfig();
  const Cloud cloud = MakeRandomCloud(500, 16, 50);
  const RandomField field = MakeRandomField(config, 51);
  const Rays rays = MakeRandomRays(200, config.samples_per_ray, 52);
  const auto run = [&] {
    return MustDifferentiate(*MakePointNerfRendererWith(config, *kernels_), config, cloud, field,
                             rays);
  };
  SetThreadCount(1);
  const RenderGradients one = run();
  SetThreadCount(4);
  const RenderGradients four = run();
  SetThreadCount(0);
  EXPECT_TRUE(one == four);
}

TEST_P(RendererGradientTest, AddsToWhatIsThereAndSkipsWhatIsNotWanted) {
  const RendererConfig config = GradientConfig();
  const Cloud cloud = MakeRandomCloud(200, 16, 53);
  const RandomField field = MakeRandomField(config, 54);
  const Rays rays = MakeRandomRays(10, config.samples_per_ray, 55);
  const std::unique_ptr<PointNerfRenderer> renderer = MakePointNerfRendererWith(config, *kernels_);
  const RenderGradients once = MustDifferentiate(*renderer, config, cloud, field, rays);
  Picture picture(rays.count());
  const auto tape =
      Must(renderer->RenderForTraining(field.weights(), rays.batch(), picture.outputs()));
  // The tape outlives the cloud it was made with.
  ASSERT_TRUE(renderer->SetParticles({}, {}).ok());
  const Picture loss = RandomLoss(rays.count(), kLossSeed);
  RandomField sum = MakeZeroField(config);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(renderer
                    ->RenderBackward(field.weights(), *tape, loss.rgb, loss.distance_m,
                                     loss.opacity, {}, {}, sum.gradients())
                    .ok());
  }
  for (std::size_t i = 0; i < sum.w1.size(); ++i) {
    EXPECT_FLOAT_EQ(sum.w1[i], 2 * once.field.w1[i]);
  }
}

TEST_P(RendererGradientTest, RefusesWrongShapes) {
  const RendererConfig config = GradientConfig();
  const std::unique_ptr<PointNerfRenderer> renderer = MakePointNerfRendererWith(config, *kernels_);
  const RandomField field = MakeRandomField(config, 56);
  const Rays rays = MakeRandomRays(2, config.samples_per_ray, 57);
  Picture picture(2);
  const auto tape =
      Must(renderer->RenderForTraining(field.weights(), rays.batch(), picture.outputs()));
  RandomField grad = MakeZeroField(config);
  const std::vector<float> one_ray(3, 0.f);
  EXPECT_EQ(
      renderer->RenderBackward(field.weights(), *tape, one_ray, {}, {}, {}, {}, grad.gradients())
          .field(),
      "grad_rgb");
  grad.b2.pop_back();
  EXPECT_EQ(renderer->RenderBackward(field.weights(), *tape, {}, {}, {}, {}, {}, grad.gradients())
                .field(),
            "field_grad.b2");
}

}  // namespace
}  // namespace interlacer::testing
