#pragma once

/// Scenes for the tests of the renderer on a device, and the renderer with all its memory there.

#include <gtest/gtest.h>

#include <vector>

#include "render/device_renderer.h"
#include "render/kernels/cuda_render_kernels.h"
#include "tests/device/device_array.h"
#include "tests/render/render_gradients.h"
#include "tests/render/render_scene.h"

namespace interlacer::testing {

inline constexpr std::uint64_t kRendererSeed = 43;

inline RendererConfig SmallRendererConfig() {
  RendererConfig config;
  config.feature_width = 5;
  config.hidden_width = 20;
  config.samples_per_ray = 40;
  return config;
}

/// Half of the rays of MakeRandomRays; one misses everything, one starts far behind.
inline Rays SomeRays(const RendererConfig& config, int count = 10) {
  Rays rays = MakeRandomRays(count, config.samples_per_ray, kRendererSeed);
  for (int axis = 0; axis < 3; ++axis) rays.directions[axis] = axis == 2 ? 1.F : 0.F;
  for (int axis = 0; axis < 3; ++axis) {
    rays.origins_m[3 + axis] -= 100.F * rays.directions[3 + axis];
  }
  return rays;
}

struct FieldOnDevice {
  DeviceArray<float> w1, b1, w2, b2, w3, b3;

  FieldOnDevice(const CheckedStream& stream, const RandomField& f)
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

/// A renderer with its memory, cloud, field and rays on the device.
class SceneOnDevice {
 public:
  SceneOnDevice(const RendererConfig& config, const Cloud& cloud, const RandomField& field,
                const Rays& rays, std::int64_t pass_samples = DeviceRenderer::kDefaultPassSamples,
                FieldPrecision precision = FieldPrecision::kFloat32)
      : renderer_(config, kKernels, precision, pass_samples),
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
        serving_scratch_(stream_, Bytes(renderer_.ServingScratchBytes(n_, ray_count_))),
        training_scratch_(stream_, Bytes(renderer_.TrainingScratchBytes(ray_count_))) {
    const DeviceArray<float> positions(stream_, cloud.positions_m),
        features(stream_, cloud.features);
    Expect(renderer_.SetParticles(positions.get(), features.get(), n_, cloud_.get(),
                                  serving_scratch_.get(), stream_.get()));
    stream_.Wait();
  }

  Picture Render() {
    Expect(renderer_.Render(field_.weights(), rays(), outputs(), serving_scratch_.get(),
                            stream_.get()));
    return ReadPicture();
  }
  Picture RenderForTraining() {
    Expect(renderer_.RenderForTraining(field_.weights(), rays(), outputs(), tape_.get(),
                                       training_scratch_.get(), stream_.get()));
    return ReadPicture();
  }
  /// Adds gradients to `start`; `grads` holds the three gradients of the outputs, empty ones are
  /// null.
  RenderGradients Backward(const Picture& grads, const RenderGradients& start,
                           bool want_positions = true, bool want_features = true) {
    const DeviceArray<float> rgb(stream_, grads.rgb), distance(stream_, grads.distance_m),
        opacity(stream_, grads.opacity), positions(stream_, start.positions_m),
        features(stream_, start.features);
    const FieldOnDevice field_grad(stream_, start.field);
    const DeviceArray<char> scratch(stream_, Bytes(renderer_.TrainingScratchBytes(ray_count_)));
    Expect(renderer_.RenderBackward(
        field_.weights(), tape_.get(), ray_count_, {rgb.get(), distance.get(), opacity.get()},
        {want_positions ? positions.get() : nullptr, want_features ? features.get() : nullptr},
        field_grad.gradients(), scratch.get(), stream_.get()));
    return {positions.Read(), features.Read(), field_grad.Read()};
  }

 private:
  inline static const CudaRenderKernels kKernels{};

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

  CheckedStream stream_;
  DeviceRenderer renderer_;
  std::int64_t n_;
  std::int64_t ray_count_;
  FieldOnDevice field_;
  DeviceArray<float> origins_, directions_, jitter_;
  DeviceArray<float> rgb_, distance_, opacity_;
  DeviceArray<char> cloud_, tape_, serving_scratch_, training_scratch_;
};

/// Every particle twice, the copies with different features.
inline Cloud Doubled(const Cloud& cloud) {
  Cloud doubled = cloud;
  doubled.positions_m.insert(doubled.positions_m.end(), cloud.positions_m.begin(),
                             cloud.positions_m.end());
  for (const float x : cloud.features) doubled.features.push_back(0.5F - x);
  return doubled;
}

inline std::vector<Cloud> Clouds(const RendererConfig& config) {
  const int width = config.feature_width;
  return {MakeRandomCloud(300, width, kRendererSeed),
          MakeRandomCloud(0, width, kRendererSeed),
          MakeRandomCloud(1, width, kRendererSeed, 0.1),
          MakeRandomCloud(5, width, kRendererSeed, 0.1),
          MakeRandomCloud(17, width, kRendererSeed, 0.05),
          Doubled(MakeRandomCloud(60, width, kRendererSeed, 0.1))};
}

/// Configurations with other shapes of the field and its inputs.
inline std::vector<RendererConfig> Configs() {
  std::vector<RendererConfig> configs(4, SmallRendererConfig());
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

}  // namespace interlacer::testing
