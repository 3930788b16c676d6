#include "render/renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/thread_pool.h"
#include "render/cpu_kernels.h"
#include "render/point_nerf_renderer.h"
#include "tests/render/render_scene.h"

namespace interlacer::testing {
namespace {

RendererConfig PictureConfig() {
  RendererConfig config;
  config.hidden_width = 24;
  config.samples_per_ray = 40;
  return config;
}

Picture MustRender(PointNerfRenderer& renderer, const Cloud& cloud, const RandomField& field,
                   const Rays& rays) {
  Picture picture(rays.count());
  EXPECT_TRUE(renderer.SetParticles(cloud.positions_m, cloud.features).ok());
  const Status status = renderer.Render(field.weights(), rays.batch(), picture.outputs());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return picture;
}

struct KernelChoice {
  const char* name;
  const RenderKernels* (*get)();
};

class RendererTest : public ::testing::TestWithParam<KernelChoice> {
 protected:
  void SetUp() override {
    kernels_ = GetParam().get();
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine has no " << GetParam().name;
  }
  std::unique_ptr<PointNerfRenderer> Make(const RendererConfig& config) const {
    return MakePointNerfRendererWith(config, *kernels_);
  }
  void ExpectLikeReference(const RendererConfig& config, const Cloud& cloud, const Rays& rays) {
    const RandomField field = MakeRandomField(config, 5);
    const std::unique_ptr<PointNerfRenderer> reference = MakeReferenceRenderer(config);
    ExpectClose(MustRender(*Make(config), cloud, field, rays),
                MustRender(*reference, cloud, field, rays));
  }

  const RenderKernels* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Kernels, RendererTest,
                         ::testing::Values(KernelChoice{"portable",
                                                        [] { return &PortableRenderKernels(); }},
                                           KernelChoice{"avx2", Avx2RenderKernels},
                                           KernelChoice{"avx512", Avx512RenderKernels}),
                         [](const auto& choice) { return std::string(choice.param.name); });

TEST_P(RendererTest, EqualsReference) {
  const RendererConfig config = PictureConfig();
  ExpectLikeReference(config, MakeRandomCloud(700, 16, 1),
                      MakeRandomRays(70, config.samples_per_ray, 2));
}

TEST_P(RendererTest, EqualsReferenceForOddWidths) {
  RendererConfig config = PictureConfig();
  config.feature_width = 19;
  config.hidden_width = 37;
  config.neighbor_count = 11;
  config.kernel_radii_m = {0.f, .02f, .04f, .05f, .1f};
  config.kernel_bandwidths_m = {.02f, .02f, .03f, .05f, .1f};
  config.empty_radius_m = .35f;
  ExpectLikeReference(config, MakeRandomCloud(300, 19, 3),
                      MakeRandomRays(33, config.samples_per_ray, 4));
}

TEST_P(RendererTest, EqualsReferenceForAFewParticles) {
  const RendererConfig config = PictureConfig();
  for (const int n : {1, 2, 15, 16, 17, 33, 257}) {
    SCOPED_TRACE(n);
    ExpectLikeReference(config, MakeRandomCloud(n, 16, 10 + n, 0.1),
                        MakeRandomRays(40, config.samples_per_ray, 6));
  }
}

TEST_P(RendererTest, EqualsReferenceForCoincidentParticlesAndLattices) {
  const RendererConfig config = PictureConfig();
  Cloud cloud = MakeRandomCloud(400, 16, 7, 0.2);
  for (std::size_t i = 0; i < cloud.positions_m.size(); ++i) {
    // A lattice of 2^-5 m with many particles on one spot: distances tie exactly.
    cloud.positions_m[i] = std::round(cloud.positions_m[i] * 32) / 32;
  }
  ExpectLikeReference(config, cloud, MakeRandomRays(40, config.samples_per_ray, 8));
}

TEST_P(RendererTest, ServingOffsetsEqualReference) {
  const RendererConfig config = PictureConfig();
  Rays rays = MakeRandomRays(40, config.samples_per_ray, 9);
  rays.jitter.clear();
  ExpectLikeReference(config, MakeRandomCloud(500, 16, 9), rays);
}

TEST_P(RendererTest, SkippingEmptySpaceChangesNoBit) {
  RendererConfig config = PictureConfig();
  const Cloud cloud = MakeRandomCloud(900, 16, 11);
  const RandomField field = MakeRandomField(config, 12);
  const Rays rays = MakeRandomRays(200, config.samples_per_ray, 13);
  const Picture skipping = MustRender(*Make(config), cloud, field, rays);
  config.skip_empty_space = false;
  EXPECT_EQ(skipping, MustRender(*Make(config), cloud, field, rays));
}

TEST_P(RendererTest, NoParticlesIsExactlyWhite) {
  const RendererConfig config = PictureConfig();
  const Rays rays = MakeRandomRays(5, config.samples_per_ray, 14);
  const Picture picture = MustRender(*Make(config), Cloud(), MakeRandomField(config, 15), rays);
  EXPECT_THAT(picture.rgb, ::testing::Each(1.f));
  EXPECT_THAT(picture.distance_m, ::testing::Each(config.far_m));
  EXPECT_THAT(picture.opacity, ::testing::Each(0.f));
}

TEST_P(RendererTest, RayPastTheCloudIsExactlyWhite) {
  const RendererConfig config = PictureConfig();
  Rays rays;
  rays.origins_m = {0.f, 0.f, 0.5f};
  rays.directions = {0.f, 0.f, 1.f};
  const Picture picture =
      MustRender(*Make(config), MakeRandomCloud(300, 16, 16), MakeRandomField(config, 17), rays);
  EXPECT_THAT(picture.rgb, ::testing::Each(1.f));
  EXPECT_EQ(picture.opacity[0], 0.f);
}

TEST_P(RendererTest, ThreadsAndRayOrderChangeNoBit) {
  const RendererConfig config = PictureConfig();
  const Cloud cloud = MakeRandomCloud(1200, 16, 18);
  const RandomField field = MakeRandomField(config, 19);
  const Rays rays = MakeRandomRays(1300, config.samples_per_ray, 20);
  const Picture first = MustRender(*Make(config), cloud, field, rays);
  for (const int threads : {1, 2, 5}) {
    SetThreadCount(threads);
    EXPECT_EQ(first, MustRender(*Make(config), cloud, field, rays)) << threads << " threads";
  }
  SetThreadCount(0);
  // The last ray alone: no ray depends on its companions.
  Rays last;
  last.origins_m.assign(rays.origins_m.end() - 3, rays.origins_m.end());
  last.directions.assign(rays.directions.end() - 3, rays.directions.end());
  last.jitter.assign(rays.jitter.end() - config.samples_per_ray, rays.jitter.end());
  const Picture alone = MustRender(*Make(config), cloud, field, last);
  EXPECT_TRUE(std::equal(alone.rgb.begin(), alone.rgb.end(), first.rgb.end() - 3));
}

TEST_P(RendererTest, TrainingEqualsServingWithoutStop) {
  RendererConfig config = PictureConfig();
  config.stop_transmittance = 0;
  const Cloud cloud = MakeRandomCloud(800, 16, 21);
  const RandomField field = MakeRandomField(config, 22);
  const Rays rays = MakeRandomRays(90, config.samples_per_ray, 23);
  const std::unique_ptr<PointNerfRenderer> renderer = Make(config);
  const Picture served = MustRender(*renderer, cloud, field, rays);
  Picture trained(rays.count());
  ASSERT_TRUE(renderer->RenderForTraining(field.weights(), rays.batch(), trained.outputs()).ok());
  EXPECT_EQ(served, trained);
}

TEST_P(RendererTest, StoppingEarlyCostsLessThanItsTransmittance) {
  RendererConfig config = PictureConfig();
  config.stop_transmittance = 1e-2f;
  const Cloud cloud = MakeRandomCloud(3000, 16, 24, 0.2);
  RandomField field = MakeRandomField(config, 25);
  field.b3[0] = 60.f;  // opaque wherever there is a particle
  const Rays rays = MakeRandomRays(90, config.samples_per_ray, 26);
  const Picture stopped = MustRender(*Make(config), cloud, field, rays);
  config.stop_transmittance = 0;
  const Picture full = MustRender(*Make(config), cloud, field, rays);
  EXPECT_NE(stopped, full);
  EXPECT_LE(MaxDifference(stopped.rgb, full.rgb), 1e-2);
}

TEST_P(RendererTest, RefusesWhatIsNotFinite) {
  const RendererConfig config = PictureConfig();
  const std::unique_ptr<PointNerfRenderer> renderer = Make(config);
  Cloud cloud = MakeRandomCloud(20, 16, 27);
  cloud.positions_m[7] = std::numeric_limits<float>::quiet_NaN();
  const Status bad_cloud = renderer->SetParticles(cloud.positions_m, cloud.features);
  EXPECT_EQ(bad_cloud.reason(), reason::NOT_FINITE);
  EXPECT_EQ(bad_cloud.field(), "positions_m[7]");

  RandomField field = MakeRandomField(config, 28);
  Rays rays = MakeRandomRays(2, config.samples_per_ray, 29);
  Picture picture(2);
  field.w2[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(renderer->Render(field.weights(), rays.batch(), picture.outputs()).field(),
            "field.w2[3]");
  EXPECT_EQ(picture, Picture(2)) << "a refused call writes nothing";
}

TEST_P(RendererTest, RefusesWrongShapesAndDirections) {
  const RendererConfig config = PictureConfig();
  const std::unique_ptr<PointNerfRenderer> renderer = Make(config);
  const Cloud cloud = MakeRandomCloud(20, 16, 30);
  EXPECT_EQ(renderer->SetParticles(cloud.positions_m, {cloud.features.data(), 16}).field(),
            "features");
  const RandomField field = MakeRandomField(config, 31);
  Rays rays = MakeRandomRays(2, config.samples_per_ray, 32);
  Picture small(1), right(2);
  EXPECT_EQ(renderer->Render(field.weights(), rays.batch(), small.outputs()).reason(),
            reason::SHAPE_MISMATCH);
  rays.jitter.pop_back();
  EXPECT_EQ(renderer->Render(field.weights(), rays.batch(), right.outputs()).field(),
            "rays.jitter");
  rays.jitter.clear();
  rays.directions[0] *= 2;
  EXPECT_EQ(renderer->Render(field.weights(), rays.batch(), right.outputs()).reason(),
            reason::ARGUMENT_INVALID);
}

TEST(RendererConfigTest, RefusesWhatTheKernelsCannotDo) {
  const auto field_of = [](auto&& change) {
    RendererConfig config;
    change(config);
    const Status status = ValidateRendererConfig(config);
    EXPECT_EQ(status.reason(), status.ok() ? "" : reason::CONFIG_INVALID);
    return status.field();
  };
  EXPECT_EQ(field_of([](RendererConfig&) {}), "");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.neighbor_count = 17; }), "neighbor_count");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.feature_width = 0; }), "feature_width");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.kernel_bandwidths_m.pop_back(); }),
            "kernel_bandwidths_m");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.kernel_bandwidths_m[1] = 0; }),
            "kernel_bandwidths_m[1]");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.far_m = c.near_m; }), "far_m");
  EXPECT_EQ(field_of([](RendererConfig& c) { c.empty_radius_m = NAN; }), "empty_radius_m");
}

}  // namespace
}  // namespace interlacer::testing
