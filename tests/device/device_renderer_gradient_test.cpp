#include <gtest/gtest.h>

#include <vector>

#include "tests/device/renderer_on_device.h"

namespace interlacer::testing {
namespace {

TEST(DeviceRendererTest, GradientsFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const RendererConfig& config : Configs()) {
    SCOPED_TRACE(config.hidden_width);
    const RandomField field = MakeRandomField(config, kRendererSeed);
    const Rays rays = SomeRays(config);
    const Picture loss = RandomLoss(rays.count(), kRendererSeed);
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      const ReferenceGradients expected = ReferenceBackward(
          MakeReferenceScene(config, cloud.positions_m, cloud.features, field.weights()), rays,
          loss);
      for (const std::int64_t pass_samples :
           {DeviceRenderer::kDefaultPassSamples, std::int64_t{99}}) {
        SceneOnDevice scene(config, cloud, field, rays, pass_samples);
        scene.RenderForTraining();
        ExpectGradientsClose(scene.Backward(loss, ZeroGradients(config, cloud)), expected);
      }
    }
  }
}

TEST(DeviceRendererTest, GradientsAreTheSameBitsEveryTime) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  RendererConfig config = SmallRendererConfig();
  const RandomField field = MakeRandomField(config, kRendererSeed);
  const Rays rays = SomeRays(config);
  const Picture loss = RandomLoss(rays.count(), kRendererSeed);
  const Cloud cloud = MakeRandomCloud(40, config.feature_width, kRendererSeed, 0.2);
  SceneOnDevice scene(config, cloud, field, rays);
  scene.RenderForTraining();
  const RenderGradients first = scene.Backward(loss, ZeroGradients(config, cloud));
  EXPECT_TRUE(scene.Backward(loss, ZeroGradients(config, cloud)) == first);
  scene.Render();  // with other memory than the tape
  EXPECT_TRUE(scene.Backward(loss, ZeroGradients(config, cloud)) == first);
  SceneOnDevice again(config, cloud, field, rays);
  again.RenderForTraining();
  EXPECT_TRUE(again.Backward(loss, ZeroGradients(config, cloud)) == first);
}

TEST(DeviceRendererTest, GradientsAreAddedAndOnlyThoseWanted) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallRendererConfig();
  const RandomField field = MakeRandomField(config, kRendererSeed);
  const Rays rays = SomeRays(config);
  const Cloud cloud = MakeRandomCloud(80, config.feature_width, kRendererSeed, 0.2);
  SceneOnDevice scene(config, cloud, field, rays);
  scene.RenderForTraining();
  Picture loss = RandomLoss(rays.count(), kRendererSeed);
  const RenderGradients alone = scene.Backward(loss, ZeroGradients(config, cloud));
  const RenderGradients start{cloud.positions_m, cloud.features,
                              MakeRandomField(config, kRendererSeed + 1)};
  const RenderGradients added = scene.Backward(loss, start);
  const auto expect_sum = [](const std::vector<float>& sum, const std::vector<float>& from,
                             const std::vector<float>& gradient) {
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], from[i] + gradient[i]) << i;
  };
  expect_sum(added.positions_m, start.positions_m, alone.positions_m);
  expect_sum(added.features, start.features, alone.features);
  expect_sum(added.field.w1, start.field.w1, alone.field.w1);
  expect_sum(added.field.b3, start.field.b3, alone.field.b3);

  const RenderGradients positions_only = scene.Backward(loss, start, true, false);
  EXPECT_EQ(positions_only.positions_m, added.positions_m);
  EXPECT_EQ(positions_only.features, start.features);
  const RenderGradients features_only = scene.Backward(loss, start, false, true);
  EXPECT_EQ(features_only.positions_m, start.positions_m);
  EXPECT_EQ(features_only.features, added.features);
  const RenderGradients field_only = scene.Backward(loss, start, false, false);
  EXPECT_EQ(field_only.features, start.features);
  EXPECT_EQ(field_only.field.w1, added.field.w1);

  // A missing gradient counts as zero.
  Picture color_only = loss;
  color_only.distance_m.clear();
  color_only.opacity.clear();
  loss.distance_m.assign(rays.count(), 0.F);
  loss.opacity.assign(rays.count(), 0.F);
  EXPECT_TRUE(scene.Backward(color_only, start) == scene.Backward(loss, start));
}
}  // namespace
}  // namespace interlacer::testing
