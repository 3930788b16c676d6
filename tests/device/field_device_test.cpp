#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "render/kernels/field_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 37;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

AnnularParameters Annular(int kernel_count, int feature_width) {
  AnnularParameters parameters{
      kernel_count, feature_width, (feature_width + 15) / 16 * 16, 0, {}, {}};
  parameters.input_stride = (kernel_count * (feature_width + 1) + 15) / 16 * 16;
  for (int b = 0; b < kernel_count; ++b) {
    parameters.radii_m[b] = 0.02F * static_cast<float>(b);
    parameters.bandwidths_m[b] = 0.01F + 0.02F * static_cast<float>(b);
  }
  return parameters;
}

constexpr std::uint32_t kSlots = 60;

/// Rows of kSlots particles, zero beyond the width.
std::vector<float> PaddedFeatures(const AnnularParameters& p) {
  std::vector<float> features = RandomNormal<float>(kSlots * p.feature_stride, kSeed, 1);
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (static_cast<int>(i % p.feature_stride) >= p.feature_width) features[i] = 0;
  }
  return features;
}

/// Neighbourhoods in which sample s has s % 17 neighbours; the nearest of sample 5 coincides with
/// it.
struct Neighborhoods {
  std::vector<std::uint32_t> slots;
  std::vector<float> sq_dist_m2;

  explicit Neighborhoods(std::int64_t samples) {
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 2);
    for (std::int64_t s = 0; s < samples; ++s) {
      for (int i = 0; i < kGatherWidth; ++i) {
        const bool present = i < s % 17;
        slots.push_back(present ? random.Below(kSlots) : kNoSlot);
        const float distance =
            s == 5 && i == 0 ? 0 : 0.01F * static_cast<float>(i) + 0.005F * random.Uniform();
        sq_dist_m2.push_back(present ? distance * distance : kInfinity);
      }
    }
  }
};

TEST(AnnularSumsDeviceTest, FollowTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kSamples = 41;
  for (const auto& [kernel_count, feature_width] : {std::pair(4, 16), {1, 3}, {3, 40}, {8, 16}}) {
    SCOPED_TRACE(kernel_count);
    const AnnularParameters parameters = Annular(kernel_count, feature_width);
    const Neighborhoods near(kSamples);
    const std::vector<float> features = PaddedFeatures(parameters);
    std::vector<float> expected(kSamples * parameters.input_stride);
    cpu::AnnularSums(parameters, features.data(), near.slots.data(), near.sq_dist_m2.data(),
                     kSamples, expected.data());
    const CheckedStream stream;
    const DeviceArray<float> features_device(stream, features), sq_dist(stream, near.sq_dist_m2);
    const DeviceArray<std::uint32_t> slots_device(stream, near.slots);
    const DeviceArray<float> inputs(stream, kSamples * parameters.input_stride);
    ASSERT_EQ(LaunchAnnularSums(parameters, features_device.get(), slots_device.get(),
                                sq_dist.get(), kSamples, inputs.get(), stream.get()),
              0);
    EXPECT_LE(RelativeL2(inputs.Read(), expected), kFieldTolerance);
  }
}

TEST(AnnularSumsDeviceTest, GradientsFollowTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kSamples = 37;
  for (const auto& [kernel_count, feature_width] : {std::pair(4, 16), {1, 3}, {3, 40}, {8, 64}}) {
    SCOPED_TRACE(kernel_count);
    const AnnularParameters p = Annular(kernel_count, feature_width);
    const Neighborhoods near(kSamples);
    const std::vector<float> features = PaddedFeatures(p);
    const std::vector<float> input_grad = RandomNormal<float>(kSamples * p.input_stride, kSeed, 12);
    std::vector<float> inputs(input_grad.size()), rows(kSamples * kernel_count * p.feature_stride),
        weights(kGatherWidth * kSamples * kernel_count), slopes(kGatherWidth * kSamples);
    cpu::AnnularSums(p, features.data(), near.slots.data(), near.sq_dist_m2.data(), kSamples,
                     inputs.data());
    cpu::AnnularSumsBackward(p, features.data(), near.slots.data(), near.sq_dist_m2.data(),
                             inputs.data(), input_grad.data(), kSamples, rows.data(),
                             weights.data(), slopes.data());
    const CheckedStream stream;
    const DeviceArray<float> features_device(stream, features), sq_dist(stream, near.sq_dist_m2),
        inputs_device(stream, inputs), input_grad_device(stream, input_grad);
    const DeviceArray<std::uint32_t> slots_device(stream, near.slots);
    const DeviceArray<float> got_rows(stream, static_cast<std::int64_t>(rows.size())),
        got_weights(stream, static_cast<std::int64_t>(weights.size())),
        got_slopes(stream, static_cast<std::int64_t>(slopes.size()));
    ASSERT_EQ(LaunchAnnularSumsBackward(p, features_device.get(), slots_device.get(), sq_dist.get(),
                                        inputs_device.get(), input_grad_device.get(), kSamples,
                                        got_rows.get(), got_weights.get(), got_slopes.get(),
                                        stream.get()),
              0);
    EXPECT_LE(RelativeL2(got_rows.Read(), rows), kFieldTolerance);
    EXPECT_LE(RelativeL2(got_weights.Read(), weights), kFieldTolerance);
    EXPECT_LE(RelativeL2(got_slopes.Read(), slopes), kFieldTolerance);
  }
}

struct DenseShape {
  std::int64_t m;
  int x_width;
  int y_width;
  bool relu;
  bool masked;
};

TEST(DenseForwardDeviceTest, FollowsTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const DenseShape& shape :
       {DenseShape{1, 1, 16, false, false}, DenseShape{65, 68, 64, true, false},
        DenseShape{200, 128, 128, false, true}, DenseShape{64, 64, 16, false, false},
        DenseShape{33, 17, 80, true, true}, DenseShape{0, 5, 16, true, false}}) {
    SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.x_width));
    const int x_stride = (shape.x_width + 15) / 16 * 16;
    const std::vector<float> x = RandomNormal<float>(shape.m * x_stride, kSeed, 3);
    const std::vector<float> w = RandomNormal<float>(shape.x_width * shape.y_width, kSeed, 4);
    const std::vector<float> bias = RandomNormal<float>(shape.y_width, kSeed, 5);
    const std::vector<float> mask = RandomNormal<float>(shape.m * shape.y_width, kSeed, 6);
    std::vector<float> expected(mask.size());
    const DenseLayer on_host{shape.m,        shape.x_width, x_stride,
                             shape.y_width,  x.data(),      w.data(),
                             bias.data(),    shape.relu,    shape.masked ? mask.data() : nullptr,
                             expected.data()};
    cpu::DenseForward(on_host);
    const CheckedStream stream;
    const DeviceArray<float> x_device(stream, x), w_device(stream, w), bias_device(stream, bias),
        mask_device(stream, mask), y(stream, static_cast<std::int64_t>(mask.size()));
    DenseLayer layer = on_host;
    layer.x = x_device.get();
    layer.w = w_device.get();
    layer.bias = bias_device.get();
    layer.mask = shape.masked ? mask_device.get() : nullptr;
    layer.y = y.get();
    ASSERT_EQ(LaunchDenseForward(layer, stream.get()), 0);
    EXPECT_LE(RelativeL2(y.Read(), expected), kFloatOpTolerance);
  }
}

TEST(DenseWeightGradientDeviceTest, AddsWhatTheCpuAdds) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const auto& [m, x_stride, y_width] :
       {std::tuple(1, 16, 1), {200, 80, 64}, {2100, 128, 4}, {0, 16, 16}}) {
    SCOPED_TRACE(m);
    const std::vector<float> x = RandomNormal<float>(m * x_stride, kSeed, 13);
    const std::vector<float> y_grad = RandomNormal<float>(m * y_width, kSeed, 14);
    std::vector<float> w_grad = RandomNormal<float>(y_width * x_stride, kSeed, 15);
    std::vector<float> bias_grad = RandomNormal<float>(y_width, kSeed, 16);
    const CheckedStream stream;
    const DeviceArray<float> x_device(stream, x), y_device(stream, y_grad), w(stream, w_grad),
        bias(stream, bias_grad);
    const DeviceArray<char> workspace(
        stream, static_cast<std::int64_t>(DenseWeightGradientWorkspaceBytes(x_stride, y_width)));
    cpu::DenseWeightGradientSum(
        {m, x_stride, y_width, y_width, x.data(), y_grad.data(), w_grad.data(), bias_grad.data()});
    ASSERT_EQ(LaunchDenseWeightGradient({m, x_stride, y_width, y_width, x_device.get(),
                                         y_device.get(), w.get(), bias.get()},
                                        workspace.get(), stream.get()),
              0);
    EXPECT_LE(RelativeL2(w.Read(), w_grad), kFloatOpTolerance);
    EXPECT_LE(RelativeL2(bias.Read(), bias_grad), kFloatOpTolerance);
  }
}

/// The field in float32: inputs to logits, with padded strides.
std::vector<float> Logits(const std::vector<float>& inputs, std::int64_t m, int in, int hidden,
                          const std::vector<std::vector<float>>& weights) {
  std::vector<float> x = inputs;
  const int widths[4] = {in, hidden, hidden, 4};
  for (int layer = 0; layer < 3; ++layer) {
    std::vector<float> y;
    for (std::int64_t s = 0; s < m; ++s) {
      for (int out = 0; out < widths[layer + 1]; ++out) {
        float sum = weights[2 * layer + 1][out];
        for (int k = 0; k < widths[layer]; ++k) {
          sum += weights[2 * layer][out * widths[layer] + k] * x[s * widths[layer] + k];
        }
        y.push_back(layer < 2 ? std::fmax(sum, 0.F) : sum);
      }
    }
    x = y;
  }
  return x;
}

TEST(FieldBf16DeviceTest, FollowsTheLayersInFloat32) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kSamples = 300, kPass = 289;  // some warps visit two tiles
  for (const auto& [kernel_count, feature_width, hidden] :
       {std::tuple(4, 16, 64), {4, 16, 128}, {1, 3, 20}, {5, 20, 70}, {8, 15, 128}, {1, 64, 30}}) {
    SCOPED_TRACE(hidden);
    AnnularParameters p = Annular(kernel_count, feature_width);
    p.feature_stride = feature_width;
    p.input_stride = kernel_count * (feature_width + 1);
    const int in = p.input_stride;
    const Neighborhoods near(kSamples);
    const std::vector<float> features = RandomNormal<float>(kSlots * feature_width, kSeed, 17);
    std::vector<std::vector<float>> weights;
    const int sizes[6] = {hidden * in, hidden, hidden * hidden, hidden, 4 * hidden, 4};
    for (std::uint32_t i = 0; i < 6; ++i) {
      weights.push_back(RandomNormal<float>(sizes[i], kSeed, 18 + i));
      for (float& w : weights.back()) w *= i % 2 == 0 ? std::sqrt(2.F / (i == 0 ? in : hidden)) : 1;
    }
    const CheckedStream stream;
    const DeviceArray<float> features_device(stream, features), sq_dist(stream, near.sq_dist_m2),
        w1(stream, weights[0]), b1(stream, weights[1]), w2(stream, weights[2]),
        b2(stream, weights[3]), w3(stream, weights[4]), b3(stream, weights[5]),
        inputs(stream, kSamples * in), logits(stream, 4 * kSamples);
    const DeviceArray<std::uint32_t> slots(stream, near.slots);
    const DeviceArray<char> packed(stream, static_cast<std::int64_t>(PackedFieldBytes(in, hidden)));
    const DeviceArray<std::int32_t> total(stream, std::vector<std::int32_t>{kPass + 20});
    ASSERT_EQ(LaunchAnnularSums(p, features_device.get(), slots.get(), sq_dist.get(), kSamples,
                                inputs.get(), stream.get()),
              0);
    ASSERT_EQ(LaunchPackField({w1.get(), b1.get(), w2.get(), b2.get(), w3.get(), b3.get()}, in,
                              hidden, packed.get(), stream.get()),
              0);
    constexpr float kEmptyRadiusM = 0.003F;  // of the nearest, at up to 5 mm
    logits.Poison();
    ASSERT_EQ(LaunchFieldBf16(p, features_device.get(), slots.get(), sq_dist.get(), kSamples,
                              packed.get(), hidden, kEmptyRadiusM, logits.get(), stream.get(),
                              {total.get(), 20}),
              0);
    std::vector<float> expected = Logits(inputs.Read(), kSamples, in, hidden, weights);
    std::vector<float> got = logits.Read();
    int empty = 0;
    for (std::int64_t s = 0; s < kSamples; ++s) {
      if (s >= kPass) {
        for (int c = 0; c < 4; ++c) ASSERT_TRUE(std::isnan(got[4 * s + c]));
      } else if (!(near.sq_dist_m2[16 * s] <= kEmptyRadiusM * kEmptyRadiusM)) {
        ASSERT_EQ(got[4 * s], -kInfinity);
        got[4 * s] = expected[4 * s] = 0;
        ++empty;
      }
    }
    EXPECT_GT(empty, 40);
    EXPECT_LT(empty, 240);
    got.resize(4 * kPass);
    expected.resize(4 * kPass);
    EXPECT_LE(RelativeL2(got, expected), kBfloat16OpTolerance);
  }
}

TEST(FieldBf16DeviceTest, RefusesFieldsThatAreTooWide) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const AnnularParameters p = Annular(4, 16);
  EXPECT_NE(LaunchPackField({}, 68, kMaxBf16HiddenWidth + 1, nullptr, nullptr), 0);
  EXPECT_NE(LaunchPackField({}, kMaxBf16InputWidth + 1, 64, nullptr, nullptr), 0);
  EXPECT_NE(LaunchFieldBf16(p, nullptr, nullptr, nullptr, 1, nullptr, kMaxBf16HiddenWidth + 1, 1,
                            nullptr, nullptr),
            0);
}

TEST(TransposeDeviceTest, SwapsRowsAndColumns) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  const CheckedStream stream;
  const DeviceArray<float> matrix_device(stream, matrix), transposed(stream, 6);
  ASSERT_EQ(LaunchTranspose(matrix_device.get(), 2, 3, transposed.get(), stream.get()), 0);
  EXPECT_EQ(transposed.Read(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace interlacer::testing
