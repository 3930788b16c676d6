#include "render/device_renderer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "render/reference_renderer.h"
#include "tests/device/device_array.h"
#include "tests/render/render_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 43;

RendererConfig SmallConfig() {
  RendererConfig config;
  config.feature_width = 5;
  config.hidden_width = 20;
  config.samples_per_ray = 40;
  return config;
}

/// Half of the rays of MakeRandomRays, one away from everything, one from far behind.
Rays SomeRays(const RendererConfig& config, int count = 10) {
  Rays rays = MakeRandomRays(count, config.samples_per_ray, kSeed);
  for (int axis = 0; axis < 3; ++axis) rays.directions[axis] = axis == 2 ? 1.F : 0.F;
  for (int axis = 0; axis < 3; ++axis) {
    rays.origins_m[3 + axis] -= 100.F * rays.directions[3 + axis];
  }
  return rays;
}

struct FieldOnDevice {
  DeviceArray<float> w1, b1, w2, b2, w3, b3;

  FieldOnDevice(const TestStream& stream, const RandomField& f)
      : w1(stream, f.w1),
        b1(stream, f.b1),
        w2(stream, f.w2),
        b2(stream, f.b2),
        w3(stream, f.w3),
        b3(stream, f.b3) {}
  DeviceField weights() const {
    return {w1.get(), b1.get(), w2.get(), b2.get(), w3.get(), b3.get()};
  }
  DeviceFieldGradients gradients() const {
    return {w1.get(), b1.get(), w2.get(), b2.get(), w3.get(), b3.get()};
  }
  RandomField Read() const {
    return {w1.Read(), b1.Read(), w2.Read(), b2.Read(), w3.Read(), b3.Read()};
  }
};

struct Gradients {
  std::vector<float> positions_m, features;
  RandomField field;
};

/// A renderer with its memory, cloud, field and rays on the device.
class Scene {
 public:
  Scene(const RendererConfig& config, const Cloud& cloud, const RandomField& field,
        const Rays& rays, std::int64_t pass_samples = DeviceRenderer::kDefaultPassSamples,
        FieldPrecision precision = FieldPrecision::kFloat32)
      : renderer_(config, precision, pass_samples),
        n_(static_cast<std::int64_t>(cloud.positions_m.size()) / 3),
        ray_count_(static_cast<std::int64_t>(rays.count())),
        field_(stream_, field),
        origins_(stream_, rays.origins_m),
        directions_(stream_, rays.directions),
        jitter_(stream_, rays.jitter),
        rgb_(stream_, 3 * ray_count_),
        distance_(stream_, ray_count_),
        opacity_(stream_, ray_count_),
        cloud_(stream_, Bytes(renderer_.CloudBytes(n_))),
        tape_(stream_, Bytes(renderer_.TapeBytes(ray_count_))),
        scratch_(stream_, Bytes(renderer_.ScratchBytes(n_, ray_count_))) {
    const DeviceArray<float> positions(stream_, cloud.positions_m),
        features(stream_, cloud.features);
    Expect(renderer_.SetParticles(positions.get(), features.get(), n_, cloud_.get(), scratch_.get(),
                                  stream_.get()));
    stream_.Wait();
  }

  Picture Render() {
    Expect(renderer_.Render(field_.weights(), rays(), outputs(), scratch_.get(), stream_.get()));
    return ReadPicture();
  }
  Picture RenderForTraining() {
    Expect(renderer_.RenderForTraining(field_.weights(), rays(), outputs(), tape_.get(),
                                       scratch_.get(), stream_.get()));
    return ReadPicture();
  }
  /// Adds to `start`; `grads` are the three gradients of the outputs, empty for null.
  Gradients Backward(const Picture& grads, const Gradients& start, bool want_positions = true,
                     bool want_features = true) {
    const DeviceArray<float> rgb(stream_, grads.rgb), distance(stream_, grads.distance_m),
        opacity(stream_, grads.opacity), positions(stream_, start.positions_m),
        features(stream_, start.features);
    const FieldOnDevice field_grad(stream_, start.field);
    const DeviceArray<char> scratch(stream_, Bytes(renderer_.ScratchBytes(n_, ray_count_)));
    Expect(renderer_.RenderBackward(
        field_.weights(), tape_.get(), ray_count_, {rgb.get(), distance.get(), opacity.get()},
        {want_positions ? positions.get() : nullptr, want_features ? features.get() : nullptr},
        field_grad.gradients(), scratch.get(), stream_.get()));
    return {positions.Read(), features.Read(), field_grad.Read()};
  }

 private:
  static std::int64_t Bytes(std::size_t size) { return static_cast<std::int64_t>(size); }
  static void Expect(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }
  DeviceRays rays() const { return {ray_count_, origins_.get(), directions_.get(), jitter_.get()}; }
  DeviceRayOutputs outputs() const { return {rgb_.get(), distance_.get(), opacity_.get()}; }
  Picture ReadPicture() const {
    Picture picture(static_cast<std::size_t>(ray_count_));
    picture.rgb = rgb_.Read();
    picture.distance_m = distance_.Read();
    picture.opacity = opacity_.Read();
    return picture;
  }

  TestStream stream_;
  DeviceRenderer renderer_;
  std::int64_t n_;
  std::int64_t ray_count_;
  FieldOnDevice field_;
  DeviceArray<float> origins_, directions_, jitter_;
  DeviceArray<float> rgb_, distance_, opacity_;
  DeviceArray<char> cloud_, tape_, scratch_;
};

/// By the float64 twin.
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

void ExpectClose(const Picture& got, const Picture& expected) {
  EXPECT_LE(MaxDifference(got.rgb, expected.rgb), kPictureTolerance);
  EXPECT_LE(MaxDifference(got.distance_m, expected.distance_m), kPictureTolerance);
  EXPECT_LE(MaxDifference(got.opacity, expected.opacity), kPictureTolerance);
}

/// Every particle twice, the copies with other features.
Cloud Doubled(const Cloud& cloud) {
  Cloud doubled = cloud;
  doubled.positions_m.insert(doubled.positions_m.end(), cloud.positions_m.begin(),
                             cloud.positions_m.end());
  for (const float x : cloud.features) doubled.features.push_back(0.5F - x);
  return doubled;
}

std::vector<Cloud> Clouds(const RendererConfig& config) {
  const int width = config.feature_width;
  return {MakeRandomCloud(300, width, kSeed),      MakeRandomCloud(0, width, kSeed),
          MakeRandomCloud(1, width, kSeed, 0.1),   MakeRandomCloud(5, width, kSeed, 0.1),
          MakeRandomCloud(17, width, kSeed, 0.05), Doubled(MakeRandomCloud(60, width, kSeed, 0.1))};
}

/// Other shapes of the field and its inputs.
std::vector<RendererConfig> Configs() {
  std::vector<RendererConfig> configs(4, SmallConfig());
  configs[1].neighbor_count = 5;
  configs[1].kernel_radii_m = {0.03F};
  configs[1].kernel_bandwidths_m = {0.02F};
  configs[1].empty_radius_m = 0.08F;
  configs[2].feature_width = 40;
  configs[2].hidden_width = 70;
  configs[2].kernel_radii_m = {0.F, .01F, .02F, .03F, .04F};
  configs[2].kernel_bandwidths_m = {.02F, .02F, .02F, .02F, .03F};
  configs[3].samples_per_ray = 1;
  return configs;
}

TEST(DeviceRendererTest, PicturesFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const RendererConfig& config : Configs()) {
    SCOPED_TRACE(config.hidden_width);
    const RandomField field = MakeRandomField(config, kSeed);
    const Rays rays = SomeRays(config);
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      Scene scene(config, cloud, field, rays);
      ExpectClose(scene.Render(),
                  ReferencePicture(config, cloud, field, rays, config.stop_transmittance));
      ExpectClose(scene.RenderForTraining(), ReferencePicture(config, cloud, field, rays, 0));
    }
  }
}

TEST(DeviceRendererTest, PicturesOfABfloat16FieldFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  // Operands of 8 bits in three layers, weighted sums of colours and of distances up to 2 m.
  constexpr double kBf16PictureTolerance = 2e-2;
  for (const int hidden_width : {20, 100}) {
    RendererConfig config = SmallConfig();
    config.hidden_width = hidden_width;
    const RandomField field = MakeRandomField(config, kSeed);
    const Rays rays = SomeRays(config);
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      Scene scene(config, cloud, field, rays, 100, FieldPrecision::kBfloat16);
      const Picture got = scene.Render();
      const Picture expected =
          ReferencePicture(config, cloud, field, rays, config.stop_transmittance);
      EXPECT_LE(MaxDifference(got.rgb, expected.rgb), kBf16PictureTolerance);
      EXPECT_LE(MaxDifference(got.distance_m, expected.distance_m), kBf16PictureTolerance);
      EXPECT_LE(MaxDifference(got.opacity, expected.opacity), kBf16PictureTolerance);
      ExpectClose(scene.RenderForTraining(), ReferencePicture(config, cloud, field, rays, 0));
    }
  }
}

TEST(DeviceRendererTest, AFieldTooWideForBfloat16StaysInFloat32) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  RendererConfig config = SmallConfig();
  config.hidden_width = 129;
  const RandomField field = MakeRandomField(config, kSeed);
  const Rays rays = SomeRays(config, 4);
  const Cloud cloud = MakeRandomCloud(100, config.feature_width, kSeed);
  Scene wide(config, cloud, field, rays, 1000, FieldPrecision::kBfloat16);
  EXPECT_EQ(wide.Render(), Scene(config, cloud, field, rays).Render());
}

TEST(DeviceRendererTest, WithoutJitterSamplesLieInTheMiddle) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallConfig();
  const RandomField field = MakeRandomField(config, kSeed);
  const Cloud cloud = MakeRandomCloud(200, config.feature_width, kSeed);
  Rays rays = SomeRays(config);
  rays.jitter.clear();
  ExpectClose(Scene(config, cloud, field, rays).Render(),
              ReferencePicture(config, cloud, field, rays, config.stop_transmittance));
}

TEST(DeviceRendererTest, RaysThatMissAreWhiteToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallConfig();
  const Cloud cloud = MakeRandomCloud(100, config.feature_width, kSeed);
  const Picture picture =
      Scene(config, cloud, MakeRandomField(config, kSeed), SomeRays(config)).Render();
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
    RendererConfig config = SmallConfig();
    const RandomField field = MakeRandomField(config, kSeed);
    const Rays rays = SomeRays(config);
    const std::vector<Cloud> clouds = Clouds(config);
    for (const Cloud& cloud : clouds) {
      config.skip_empty_space = true;
      Scene skipping(config, cloud, field, rays, kOnePass, precision);
      const Picture served = skipping.Render(), trained = skipping.RenderForTraining();
      EXPECT_EQ(skipping.Render(), served);
      // 2 samples a pass, for one cloud: 200 passes a picture.
      std::vector<std::int64_t> pass_sizes{37};
      if (&cloud == &clouds.front()) pass_sizes.push_back(2);
      for (const std::int64_t pass_samples : pass_sizes) {
        Scene in_passes(config, cloud, field, rays, pass_samples, precision);
        EXPECT_EQ(in_passes.Render(), served);
        EXPECT_EQ(in_passes.RenderForTraining(), trained);
      }
      config.skip_empty_space = false;
      Scene visiting(config, cloud, field, rays, kOnePass, precision);
      EXPECT_EQ(visiting.Render(), served);
      EXPECT_EQ(visiting.RenderForTraining(), trained);
    }
  }
}

/// A random loss, linear in the outputs.
Picture RandomLoss(std::size_t ray_count) {
  RandomSequence random(kSeed, RandomStream::kDataGeneration);
  Picture loss(ray_count);
  loss.rgb = RandomNormals(3 * ray_count, 1.0, random);
  loss.distance_m = RandomNormals(ray_count, 1.0, random);
  loss.opacity = RandomNormals(ray_count, 1.0, random);
  return loss;
}

Gradients Zero(const RendererConfig& config, const Cloud& cloud) {
  return {std::vector<float>(cloud.positions_m.size()), std::vector<float>(cloud.features.size()),
          MakeZeroField(config)};
}

ReferenceGradients ReferenceBackward(const RendererConfig& config, const Cloud& cloud,
                                     const RandomField& field, const Rays& rays,
                                     const Picture& loss) {
  const ReferenceScene scene =
      MakeReferenceScene(config, cloud.positions_m, cloud.features, field.weights());
  ReferenceGradients gradients = MakeZeroGradients(scene);
  for (std::size_t r = 0; r < rays.count(); ++r) {
    RenderReferenceRayBackward(scene, rays.batch(), r,
                               {{loss.rgb[3 * r], loss.rgb[3 * r + 1], loss.rgb[3 * r + 2]},
                                loss.distance_m[r],
                                loss.opacity[r]},
                               gradients);
  }
  return gradients;
}

void ExpectClose(const char* what, const std::vector<float>& got,
                 const std::vector<double>& expected) {
  double norm = 0;
  for (const double x : expected) norm += x * x;
  if (norm == 0) {
    for (const float x : got) ASSERT_EQ(x, 0.F) << what;
    return;
  }
  EXPECT_LE(RelativeL2(got, expected), kFloatGradientTolerance) << what;
  EXPECT_GE(Cosine(got, expected), kMinGradientCosine) << what;
}

void ExpectClose(const Gradients& got, const ReferenceGradients& expected) {
  ExpectClose("positions", got.positions_m, expected.positions_m);
  ExpectClose("features", got.features, expected.features);
  ExpectClose("w1", got.field.w1, expected.field.w1);
  ExpectClose("b1", got.field.b1, expected.field.b1);
  ExpectClose("w2", got.field.w2, expected.field.w2);
  ExpectClose("b2", got.field.b2, expected.field.b2);
  ExpectClose("w3", got.field.w3, expected.field.w3);
  ExpectClose("b3", got.field.b3, expected.field.b3);
}

void ExpectEqualBits(const Gradients& got, const Gradients& expected) {
  EXPECT_EQ(got.positions_m, expected.positions_m);
  EXPECT_EQ(got.features, expected.features);
  EXPECT_EQ(got.field.w1, expected.field.w1);
  EXPECT_EQ(got.field.b1, expected.field.b1);
  EXPECT_EQ(got.field.w2, expected.field.w2);
  EXPECT_EQ(got.field.b2, expected.field.b2);
  EXPECT_EQ(got.field.w3, expected.field.w3);
  EXPECT_EQ(got.field.b3, expected.field.b3);
}

TEST(DeviceRendererTest, GradientsFollowTheReference) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const RendererConfig& config : Configs()) {
    SCOPED_TRACE(config.hidden_width);
    const RandomField field = MakeRandomField(config, kSeed);
    const Rays rays = SomeRays(config);
    const Picture loss = RandomLoss(rays.count());
    for (const Cloud& cloud : Clouds(config)) {
      SCOPED_TRACE(cloud.positions_m.size() / 3);
      const ReferenceGradients expected = ReferenceBackward(config, cloud, field, rays, loss);
      for (const std::int64_t pass_samples :
           {DeviceRenderer::kDefaultPassSamples, std::int64_t{99}}) {
        Scene scene(config, cloud, field, rays, pass_samples);
        scene.RenderForTraining();
        ExpectClose(scene.Backward(loss, Zero(config, cloud)), expected);
      }
    }
  }
}

TEST(DeviceRendererTest, GradientsAreTheSameBitsEveryTime) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  RendererConfig config = SmallConfig();
  const RandomField field = MakeRandomField(config, kSeed);
  const Rays rays = SomeRays(config);
  const Picture loss = RandomLoss(rays.count());
  const Cloud cloud = MakeRandomCloud(40, config.feature_width, kSeed, 0.2);
  Scene scene(config, cloud, field, rays);
  scene.RenderForTraining();
  const Gradients first = scene.Backward(loss, Zero(config, cloud));
  ExpectEqualBits(scene.Backward(loss, Zero(config, cloud)), first);
  scene.Render();  // of other memory than the tape
  ExpectEqualBits(scene.Backward(loss, Zero(config, cloud)), first);
  Scene again(config, cloud, field, rays);
  again.RenderForTraining();
  ExpectEqualBits(again.Backward(loss, Zero(config, cloud)), first);
}

TEST(DeviceRendererTest, GradientsAreAddedAndOnlyThoseWanted) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallConfig();
  const RandomField field = MakeRandomField(config, kSeed);
  const Rays rays = SomeRays(config);
  const Cloud cloud = MakeRandomCloud(80, config.feature_width, kSeed, 0.2);
  Scene scene(config, cloud, field, rays);
  scene.RenderForTraining();
  Picture loss = RandomLoss(rays.count());
  const Gradients alone = scene.Backward(loss, Zero(config, cloud));
  const Gradients start{cloud.positions_m, cloud.features, MakeRandomField(config, kSeed + 1)};
  const Gradients added = scene.Backward(loss, start);
  const auto expect_sum = [](const std::vector<float>& sum, const std::vector<float>& from,
                             const std::vector<float>& gradient) {
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], from[i] + gradient[i]) << i;
  };
  expect_sum(added.positions_m, start.positions_m, alone.positions_m);
  expect_sum(added.features, start.features, alone.features);
  expect_sum(added.field.w1, start.field.w1, alone.field.w1);
  expect_sum(added.field.b3, start.field.b3, alone.field.b3);

  const Gradients positions_only = scene.Backward(loss, start, true, false);
  EXPECT_EQ(positions_only.positions_m, added.positions_m);
  EXPECT_EQ(positions_only.features, start.features);
  const Gradients features_only = scene.Backward(loss, start, false, true);
  EXPECT_EQ(features_only.positions_m, start.positions_m);
  EXPECT_EQ(features_only.features, added.features);
  const Gradients field_only = scene.Backward(loss, start, false, false);
  EXPECT_EQ(field_only.features, start.features);
  EXPECT_EQ(field_only.field.w1, added.field.w1);

  // A gradient left out is zero.
  Picture color_only = loss;
  color_only.distance_m.clear();
  color_only.opacity.clear();
  loss.distance_m.assign(rays.count(), 0.F);
  loss.opacity.assign(rays.count(), 0.F);
  ExpectEqualBits(scene.Backward(color_only, start), scene.Backward(loss, start));
}

TEST(DeviceRendererTest, NoRaysIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const RendererConfig config = SmallConfig();
  const Cloud cloud = MakeRandomCloud(20, config.feature_width, kSeed);
  Scene scene(config, cloud, MakeRandomField(config, kSeed), Rays());
  EXPECT_EQ(scene.Render(), Picture(0));
  EXPECT_EQ(scene.RenderForTraining(), Picture(0));
  ExpectEqualBits(scene.Backward(Picture(0), Zero(config, cloud)), Zero(config, cloud));
}

TEST(DeviceRendererTest, RefusesWhatItCannotCount) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  DeviceRenderer renderer(SmallConfig());
  EXPECT_EQ(renderer.Render({}, {.count = 1}, {}, nullptr, nullptr).code(),
            StatusCode::kFailedPrecondition);
  const Status particles =
      renderer.SetParticles(nullptr, nullptr, (1 << 24) + 1, nullptr, nullptr, nullptr);
  EXPECT_EQ(particles.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(particles.field(), "particle_count");
  const TestStream stream;
  const DeviceArray<char> cloud(stream, static_cast<std::int64_t>(renderer.CloudBytes(0)));
  const DeviceArray<char> scratch(stream, static_cast<std::int64_t>(renderer.ScratchBytes(0, 0)));
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
