#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "render/composite.h"
#include "render/kernels/field_cuda.h"
#include "render/radiance_field.h"
#include "tests/device/box_tree.h"
#include "tests/device/cloud_on_device.h"
#include "tests/device/device_array.h"
#include "tests/support/clouds.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 37;
/// Exponentials and logarithms of two libraries in float32.
constexpr double kFieldTolerance = 1e-5;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Neighbors {
  std::vector<std::uint32_t> index;  // kNoSlot where there is none
  std::vector<float> sq_dist_m2;
};

Neighbors BruteForce(const Cloud& cloud, const std::vector<float>& points, int k) {
  Neighbors result;
  std::vector<std::pair<float, std::uint32_t>> order;
  for (std::size_t p = 0; p < points.size(); p += 3) {
    order.clear();
    for (std::uint32_t i = 0; 3 * i < cloud.size(); ++i) {
      const float dx = cloud[3 * i] - points[p], dy = cloud[3 * i + 1] - points[p + 1],
                  dz = cloud[3 * i + 2] - points[p + 2];
      order.emplace_back(dx * dx + dy * dy + dz * dz, i);
    }
    std::sort(order.begin(), order.end());
    for (int r = 0; r < kGatherWidth; ++r) {
      const bool found = r < k && r < static_cast<int>(order.size());
      result.index.push_back(found ? order[r].second : kNoSlot);
      result.sq_dist_m2.push_back(found ? order[r].first : kInfinity);
    }
  }
  return result;
}

/// The tree's slots are turned back into particles.
Neighbors OnDevice(const BoxTree& tree, const std::vector<float>& points, int k) {
  const TestStream stream;
  const std::int64_t m = static_cast<std::int64_t>(points.size()) / 3;
  const DeviceArray<float> leaf_xyz(stream, tree.leaf_xyz), points_device(stream, points);
  const DeviceArray<std::uint32_t> original_index(stream, tree.original_index);
  const DeviceArray<std::uint32_t> slot_of_index(stream, tree.slot_of_index);
  std::vector<DeviceArray<float>> boxes;
  ParticleTreeView view;
  view.particle_count = tree.n;
  view.leaf_xyz = leaf_xyz.get();
  view.original_index = original_index.get();
  view.slot_of_index = slot_of_index.get();
  for (const std::vector<float>& level : tree.level_boxes) {
    boxes.emplace_back(stream, level);
    view.level_boxes[view.level_count++] = boxes.back().get();
  }
  const DeviceArray<std::uint32_t> slots(stream, kGatherWidth * m);
  const DeviceArray<float> sq_dist_m2(stream, kGatherWidth * m);
  EXPECT_EQ(LaunchGatherNearest(view, k, points_device.get(), m, slots.get(), sq_dist_m2.get(),
                                stream.get()),
            0);
  Neighbors result{slots.Read(), sq_dist_m2.Read()};
  for (std::uint32_t& slot : result.index) {
    if (slot != kNoSlot) slot = tree.original_index[slot];
  }
  return result;
}

std::vector<std::uint32_t> InOrder(const Cloud& cloud) {
  std::vector<std::uint32_t> order(cloud.size() / 3);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

/// Along x, so that most leaves are never opened.
std::vector<std::uint32_t> AlongX(const Cloud& cloud) {
  std::vector<std::uint32_t> order = InOrder(cloud);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(cloud[3 * a], a) < std::pair(cloud[3 * b], b);
  });
  return order;
}

TEST(GatherNearestDeviceTest, EqualsBruteForceToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<NamedCloud> clouds = {{"cube", CubeCloud(700, kSeed)},
                                    {"sheet", SheetCloud(5000, kSeed)},
                                    {"lattice", LatticeCloud(7)},
                                    {"coincident", CoincidentCloud(300)},
                                    {"clustered", ClusteredCloud(500, kSeed)},
                                    {"outliers", OutlierCloud(400, kSeed)},
                                    {"few", CubeCloud(5, kSeed)},
                                    {"one", CubeCloud(1, kSeed)},
                                    {"none", {}}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    std::vector<float> points = CubeCloud(37, kSeed + 1);
    points.insert(points.end(), cloud.positions_m.begin(),
                  cloud.positions_m.begin() + std::min<std::size_t>(30, cloud.positions_m.size()));
    for (const int k : {16, 5, 1}) {
      const Neighbors expected = BruteForce(cloud.positions_m, points, k);
      for (const auto& order : {InOrder(cloud.positions_m), AlongX(cloud.positions_m)}) {
        const Neighbors got = OnDevice(BoxTree(cloud.positions_m, order), points, k);
        EXPECT_EQ(got.index, expected.index);
        EXPECT_EQ(got.sq_dist_m2, expected.sq_dist_m2);
      }
    }
  }
}

TEST(GatherNearestDeviceTest, SearchesTheTreeThatTheDeviceBuilt) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<NamedCloud> clouds = {
      {"sheet", SheetCloud(3000, kSeed)},     {"lattice", LatticeCloud(7)},
      {"doubled", DoubledCloud(300, kSeed)},  {"coincident", CoincidentCloud(300)},
      {"outliers", OutlierCloud(400, kSeed)}, {"few", CubeCloud(5, kSeed)},
      {"one", CubeCloud(1, kSeed)},           {"none", {}}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    std::vector<float> points = CubeCloud(23, kSeed + 1);
    points.insert(points.end(), cloud.positions_m.begin(),
                  cloud.positions_m.begin() + std::min<std::size_t>(30, cloud.positions_m.size()));
    const std::int64_t m = static_cast<std::int64_t>(points.size()) / 3;
    const CloudOnDevice device(cloud.positions_m, std::vector<float>(cloud.positions_m.size() / 3),
                               0.1F);
    const DeviceArray<float> points_device(device.stream, points);
    const DeviceArray<std::uint32_t> slots(device.stream, kGatherWidth * m);
    const DeviceArray<float> sq_dist_m2(device.stream, kGatherWidth * m);
    ASSERT_EQ(LaunchGatherNearest(device.index.tree, 16, points_device.get(), m, slots.get(),
                                  sq_dist_m2.get(), device.stream.get()),
              0);
    const auto original_index = device.Read(device.index.original_index, device.n);
    std::vector<std::uint32_t> indices = slots.Read();
    for (std::uint32_t& slot : indices) slot = slot == kNoSlot ? slot : original_index[slot];
    const Neighbors expected = BruteForce(cloud.positions_m, points, 16);
    EXPECT_EQ(indices, expected.index);
    EXPECT_EQ(sq_dist_m2.Read(), expected.sq_dist_m2);
  }
}

TEST(GatherNearestDeviceTest, VisitsTheSamplesOfAPassOnly) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Cloud cloud = CubeCloud(40, kSeed);
  const std::vector<float> points = CubeCloud(30, kSeed + 1);
  const CloudOnDevice device(cloud, std::vector<float>(40), 0.1F);
  const DeviceArray<float> points_device(device.stream, points);
  const DeviceArray<std::int32_t> total(device.stream, std::vector<std::int32_t>{112});
  for (const auto& [begin, expected] : {std::pair(100, 12), {0, 30}, {112, 0}, {500, 0}}) {
    const DeviceArray<float> sq_dist_m2(device.stream, kGatherWidth * 30);
    const DeviceArray<std::uint32_t> slots(device.stream, kGatherWidth * 30);
    sq_dist_m2.Poison();
    ASSERT_EQ(LaunchGatherNearest(device.index.tree, 16, points_device.get(), 30, slots.get(),
                                  sq_dist_m2.get(), device.stream.get(), {total.get(), begin}),
              0);
    int written = 0;
    for (const float x : sq_dist_m2.Read()) written += std::isnan(x) ? 0 : 1;
    EXPECT_EQ(written, kGatherWidth * expected);
  }
}

TEST(GatherNearestDeviceTest, NoPointsIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(BoxTree({}, {}), {}, 16).index.empty());
}

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

/// Sample s has s % 17 neighbours; the nearest of sample 5 is in its very place.
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
    const TestStream stream;
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
    const TestStream stream;
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
    const TestStream stream;
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
    const TestStream stream;
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

/// A field in float32: inputs to logits, padded strides.
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
  constexpr std::int64_t kSamples = 150, kPass = 139;
  for (const auto& [kernel_count, feature_width, hidden] :
       {std::tuple(4, 16, 64), {4, 16, 128}, {1, 3, 20}, {5, 20, 70}}) {
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
    const TestStream stream;
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
    EXPECT_GT(empty, 20);
    EXPECT_LT(empty, 120);
    got.resize(4 * kPass);
    expected.resize(4 * kPass);
    EXPECT_LE(RelativeL2(got, expected), kBf16OpTolerance);
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
  const TestStream stream;
  const DeviceArray<float> matrix_device(stream, matrix), transposed(stream, 6);
  ASSERT_EQ(LaunchTranspose(matrix_device.get(), 2, 3, transposed.get(), stream.get()), 0);
  EXPECT_EQ(transposed.Read(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

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

/// Arrays of some rays on the device.
struct RaysOnDevice {
  TestStream stream;
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
  const TestStream stream;
  const DeviceArray<float> logits_device(stream, logits);
  for (std::int64_t s = 0; s < kSamples; ++s) {
    const bool far = s % 3 == 0;
    sq_dist_m2[kGatherWidth * s] = s % 6 == 0 ? kInfinity : far ? 0.2501F : 0.25F;
    if (far && s < 200) logits[4 * s] = -kInfinity;  // a pass of 200 samples
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
