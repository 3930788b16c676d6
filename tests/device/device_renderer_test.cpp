#include "render/device_renderer.h"

#include <gtest/gtest.h>

#include <vector>

#include "render/reference_renderer.h"
#include "tests/device/renderer_on_device.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// The picture by the float64 reference.
Picture ReferencePicture(const RendererConfig& config, const Cloud& cloud, const RandomField& field,
                         const Rays& rays, double stop_transmittance) {
  const ReferenceScene scene =
      MakeReferenceScene(config, cloud.positions_m, cloud.features, field.weights());
  Picture picture(rays.count());
  for (std::size_t r = 0; r < rays.count(); ++r) {
    const RayState<double> ray = RenderReferenceRay(scene, rays.batch(), r, stop_transmittance);
    for (int c = 0; c < 3; ++c) picture.rgb[3 * r + c] = static_cast<float>(ray.rgb[c]);
    picture.distance_m[r] = static_cast<float>(ray.distance_m);
    picture.opacity[r] = static_cast<float>(1 - ray.transmittance);
  }
  return picture;
}

TEST(DeviceRendererTest, PicturesFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const RendererConfig& config : Configs()) {
    SCOPED_TRACE(config.hidden_width);
    const RandomField field = MakeRandomField(config, kRendererSeed);
    const Rays rays = SomeRays(config);
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      SceneOnDevice scene(config, cloud, field, rays);
      ExpectClose(scene.Render(),
                  ReferencePicture(config, cloud, field, rays, config.stop_transmittance));
      ExpectClose(scene.RenderForTraining(), ReferencePicture(config, cloud, field, rays, 0));
    }
  }
}

TEST(DeviceRendererTest, PicturesOfABfloat16FieldFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int hidden_width : {20, 100}) {
    RendererConfig config = SmallRendererConfig();
    config.hidden_width = hidden_width;
    const RandomField field = MakeRandomField(config, kRendererSeed);
    const Rays rays = SomeRays(config);
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      SceneOnDevice scene(config, cloud, field, rays, 100, FieldPrecision::kBfloat16);
      const Picture got = scene.Render();
      const Picture expected =
          ReferencePicture(config, cloud, field, rays, config.stop_transmittance);
      ExpectClose(got, expected, kBfloat16PictureTolerance);
      ExpectClose(scene.RenderForTraining(), ReferencePicture(config, cloud, field, rays, 0));
    }
  }
}

TEST(DeviceRendererTest, AFieldTooWideForBfloat16StaysInFloat32) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  RendererConfig config = SmallRendererConfig();
  config.hidden_width = 129;
  const RandomField field = MakeRandomField(config, kRendererSeed);
  const Rays rays = SomeRays(config, 4);
  const Cloud cloud = MakeRandomCloud(100, config.feature_width, kRendererSeed);
  SceneOnDevice wide(config, cloud, field, rays, 1000, FieldPrecision::kBfloat16);
  EXPECT_EQ(wide.Render(), SceneOnDevice(config, cloud, field, rays).Render());
}

TEST(DeviceRendererTest, WithoutJitterSamplesLieInTheMiddle) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallRendererConfig();
  const RandomField field = MakeRandomField(config, kRendererSeed);
  const Cloud cloud = MakeRandomCloud(200, config.feature_width, kRendererSeed);
  Rays rays = SomeRays(config);
  rays.jitter.clear();
  ExpectClose(SceneOnDevice(config, cloud, field, rays).Render(),
              ReferencePicture(config, cloud, field, rays, config.stop_transmittance));
}

TEST(DeviceRendererTest, RaysThatMissAreWhiteToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallRendererConfig();
  const Cloud cloud = MakeRandomCloud(100, config.feature_width, kRendererSeed);
  const Picture picture =
      SceneOnDevice(config, cloud, MakeRandomField(config, kRendererSeed), SomeRays(config))
          .Render();
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 3; ++c) EXPECT_EQ(picture.rgb[3 * r + c], 1.F);
    EXPECT_EQ(picture.distance_m[r], config.far_m);
    EXPECT_EQ(picture.opacity[r], 0.F);
  }
  EXPECT_GT(picture.opacity[2], 0.01F);
}

TEST(DeviceRendererTest, SkippingAndPassesChangeNoBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kOnePass = 1000;
  for (const FieldPrecision precision : {FieldPrecision::kFloat32, FieldPrecision::kBfloat16}) {
    RendererConfig config = SmallRendererConfig();
    const RandomField field = MakeRandomField(config, kRendererSeed);
    const Rays rays = SomeRays(config);
    const std::vector<Cloud> clouds = Clouds(config);
    for (const Cloud& cloud : clouds) {
      config.skip_empty_space = true;
      SceneOnDevice skipping(config, cloud, field, rays, kOnePass, precision);
      const Picture served = skipping.Render(), trained = skipping.RenderForTraining();
      EXPECT_EQ(skipping.Render(), served);
      // For one cloud 2 samples a pass, which gives 200 passes a picture.
      std::vector<std::int64_t> pass_sizes{37};
      if (&cloud == &clouds.front()) pass_sizes.push_back(2);
      for (const std::int64_t pass_samples : pass_sizes) {
        SceneOnDevice in_passes(config, cloud, field, rays, pass_samples, precision);
        EXPECT_EQ(in_passes.Render(), served);
        EXPECT_EQ(in_passes.RenderForTraining(), trained);
      }
      config.skip_empty_space = false;
      SceneOnDevice visiting(config, cloud, field, rays, kOnePass, precision);
      EXPECT_EQ(visiting.Render(), served);
      EXPECT_EQ(visiting.RenderForTraining(), trained);
    }
  }
}

TEST(DeviceRendererTest, NoRaysIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallRendererConfig();
  const Cloud cloud = MakeRandomCloud(20, config.feature_width, kRendererSeed);
  SceneOnDevice scene(config, cloud, MakeRandomField(config, kRendererSeed), Rays());
  EXPECT_EQ(scene.Render(), Picture(0));
  EXPECT_EQ(scene.RenderForTraining(), Picture(0));
  EXPECT_TRUE(scene.Backward(Picture(0), ZeroGradients(config, cloud)) ==
              ZeroGradients(config, cloud));
}

TEST(DeviceRendererTest, RefusesWhatItCannotCount) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CudaRenderKernels kernels;
  DeviceRenderer renderer(SmallRendererConfig(), kernels);
  EXPECT_EQ(renderer.Render({}, {.count = 1}, {}, nullptr, nullptr).code(),
            StatusCode::kFailedPrecondition);
  const Status particles =
      renderer.SetParticles(nullptr, nullptr, (1 << 24) + 1, nullptr, nullptr, nullptr);
  EXPECT_EQ(particles.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(particles.field(), "particle_count");
  const CheckedStream stream;
  const DeviceArray<char> cloud(stream, static_cast<std::int64_t>(renderer.CloudBytes(0)));
  const DeviceArray<char> scratch(stream,
                                  static_cast<std::int64_t>(renderer.ServingScratchBytes(0, 0)));
  ASSERT_TRUE(
      renderer.SetParticles(nullptr, nullptr, 0, cloud.get(), scratch.get(), stream.get()).ok());
  const DeviceRays too_many{.count = 2147483647 / 40 + 1};
  EXPECT_EQ(renderer.RenderForTraining({}, too_many, {}, nullptr, nullptr, nullptr).code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(renderer.Render({}, {.count = -1}, {}, nullptr, nullptr).code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace interlacer::testing
