#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "render/composite.h"
#include "render/kernels/field_cuda.h"
#include "render/radiance_field.h"
#include "tests/device/device_array.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 37;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Samples of a few rays, some of density zero, one ray without any.
struct Rays {
  std::vector<std::int32_t> first{0};
  std::vector<float> t_m, delta_m, logits;
  float far_m = 2.5F;

  explicit Rays(int ray_count) {
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 7);
    for (int r = 0; r < ray_count; ++r) {
      const int samples = r == 3 ? 0 : static_cast<int>(random.Below(40));
      for (int s = 0; s < samples; ++s) {
        t_m.push_back(0.2F + 0.05F * static_cast<float>(s));
        delta_m.push_back(0.05F);
        logits.push_back(random.Below(3) == 0 ? -kInfinity
                                              : static_cast<float>(4 * random.Normal()));
        for (int c = 0; c < 3; ++c) logits.push_back(static_cast<float>(4 * random.Normal()));
      }
      first.push_back(static_cast<std::int32_t>(t_m.size()));
    }
  }
  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

/// Sample s of the rays, and the ray that owns it, in float64.
RaySample<double> SampleOf(const Rays& rays, std::int32_t s) {
  RaySample<double> sample;
  const float* logit = rays.logits.data() + 4 * s;
  sample.sigma = Softplus(double{logit[0]});
  for (int c = 0; c < 3; ++c) sample.rgb[c] = Sigmoid(double{logit[1 + c]});
  sample.t_m = rays.t_m[s];
  sample.delta_m = rays.delta_m[s];
  return sample;
}

/// Arrays of the rays on the device.
struct RaysOnDevice {
  CheckedStream stream;
  DeviceArray<std::int32_t> first;
  DeviceArray<float> t_m, delta_m, logits;
  CompositeInputs inputs;

  RaysOnDevice(const Rays& rays, float stop_transmittance)
      : first(stream, rays.first),
        t_m(stream, rays.t_m),
        delta_m(stream, rays.delta_m),
        logits(stream, rays.logits),
        inputs{rays.count(), first.get(), t_m.get(),         delta_m.get(),
               logits.get(), rays.far_m,  stop_transmittance} {}
};

TEST(CompositeDeviceTest, FollowsTheFormulas) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Rays rays(150);
  for (const float stop : {0.0F, 0.3F}) {
    const RaysOnDevice device(rays, stop);
    const DeviceArray<float> rgb(device.stream, 3 * rays.count()),
        distance(device.stream, rays.count()), opacity(device.stream, rays.count());
    ASSERT_EQ(LaunchComposite(device.inputs, rgb.get(), distance.get(), opacity.get(),
                              device.stream.get()),
              0);
    const std::vector<float> colors = rgb.Read(), distances = distance.Read(),
                             opacities = opacity.Read();
    for (std::int64_t r = 0; r < rays.count(); ++r) {
      RayState<double> expected;
      for (std::int32_t s = rays.first[r]; s < rays.first[r + 1]; ++s) {
        if (expected.transmittance < stop) break;
        CompositeSample(SampleOf(rays, s), expected);
      }
      CompositeBackground(double{rays.far_m}, expected);
      for (int c = 0; c < 3; ++c) {
        ASSERT_NEAR(colors[3 * r + c], expected.rgb[c], kPictureTolerance) << r;
      }
      ASSERT_NEAR(distances[r], expected.distance_m, kPictureTolerance) << r;
      ASSERT_NEAR(opacities[r], 1 - expected.transmittance, kPictureTolerance) << r;
    }
  }
}

TEST(CompositeDeviceTest, GradientsFollowTheFormulas) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Rays rays(40);
  const std::vector<float> grad_rgb = RandomNormal<float>(3 * rays.count(), kSeed, 8);
  const std::vector<float> grad_distance = RandomNormal<float>(rays.count(), kSeed, 9);
  const std::vector<float> grad_opacity = RandomNormal<float>(rays.count(), kSeed, 10);
  const RaysOnDevice device(rays, 0);
  const std::int64_t m = rays.first.back();
  const DeviceArray<float> rgb(device.stream, grad_rgb), distance(device.stream, grad_distance),
      opacity(device.stream, grad_opacity);
  for (const bool color_only : {false, true}) {
    const DeviceArray<float> transmittance(device.stream, m), logit_grad(device.stream, 4 * m);
    CompositeGradients grads{rgb.get(), distance.get(), opacity.get()};
    if (color_only) grads.distance_m = grads.opacity = nullptr;
    ASSERT_EQ(LaunchCompositeBackward(device.inputs, grads, transmittance.get(), logit_grad.get(),
                                      device.stream.get()),
              0);
    std::vector<double> expected;
    for (std::int64_t r = 0; r < rays.count(); ++r) {
      std::vector<RaySample<double>> samples;
      for (std::int32_t s = rays.first[r]; s < rays.first[r + 1]; ++s) {
        samples.push_back(SampleOf(rays, s));
      }
      RayGradient<double> grad{{grad_rgb[3 * r], grad_rgb[3 * r + 1], grad_rgb[3 * r + 2]}, 0, 0};
      if (!color_only) grad.distance_m = grad_distance[r];
      if (!color_only) grad.opacity = grad_opacity[r];
      std::vector<double> scratch(samples.size() + 1);
      std::vector<SampleGradient<double>> sample_grads(samples.size());
      CompositeBackward(samples.data(), static_cast<int>(samples.size()), double{rays.far_m}, grad,
                        scratch.data(), sample_grads.data());
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const double logit = rays.logits[4 * (rays.first[r] + s)];
        expected.push_back(sample_grads[s].sigma * Sigmoid(logit));
        for (int c = 0; c < 3; ++c) {
          const double color = samples[s].rgb[c];
          expected.push_back(sample_grads[s].rgb[c] * color * (1 - color));
        }
      }
    }
    EXPECT_LE(RelativeL2(logit_grad.Read(), expected), kFloatOpTolerance);
  }
}

TEST(EmptyRuleDeviceTest, TakesTheDensityOfFarSamples) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kSamples = 300;
  std::vector<float> logits = RandomNormal<float>(4 * kSamples, kSeed, 11);
  std::vector<float> sq_dist_m2(kGatherWidth * kSamples, 0.F);
  const CheckedStream stream;
  const DeviceArray<float> logits_device(stream, logits);
  for (std::int64_t s = 0; s < kSamples; ++s) {
    const bool far = s % 3 == 0;
    sq_dist_m2[kGatherWidth * s] = s % 6 == 0 ? kInfinity : far ? 0.2501F : 0.25F;
    if (far && s < 200) logits[4 * s] = -kInfinity;  // exceeds a pass of 200 samples
  }
  const DeviceArray<float> sq_dist(stream, sq_dist_m2);
  const DeviceArray<std::int32_t> total(stream, std::vector<std::int32_t>{207});
  ASSERT_EQ(LaunchEmptyRule(sq_dist.get(), kSamples, 0.5F, logits_device.get(), stream.get(),
                            {total.get(), 7}),
            0);
  EXPECT_EQ(logits_device.Read(), logits);
}

}  // namespace
}  // namespace interlacer::testing
