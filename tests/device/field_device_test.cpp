#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "render/kernels/field_cuda.h"
#include "tests/device/box_tree.h"
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

TEST(AnnularSumsDeviceTest, FollowTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kSamples = 41;
  constexpr std::uint32_t kSlots = 60;
  for (const auto& [kernel_count, feature_width] : {std::pair(4, 16), {1, 3}, {3, 40}, {8, 16}}) {
    SCOPED_TRACE(kernel_count);
    const AnnularParameters parameters = Annular(kernel_count, feature_width);
    const std::vector<float> features =
        RandomNormal<float>(kSlots * parameters.feature_stride, kSeed, 1);
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 2);
    std::vector<std::uint32_t> slots;
    std::vector<float> sq_dist_m2;
    for (std::int64_t s = 0; s < kSamples; ++s) {
      for (int i = 0; i < kGatherWidth; ++i) {  // sample s has s % 17 neighbours
        const bool present = i < s % 17;
        slots.push_back(present ? random.Below(kSlots) : kNoSlot);
        const float distance = 0.01F * static_cast<float>(i) + 0.005F * random.Uniform();
        sq_dist_m2.push_back(present ? distance * distance : kInfinity);
      }
    }
    std::vector<float> expected(kSamples * parameters.input_stride);
    cpu::AnnularSums(parameters, features.data(), slots.data(), sq_dist_m2.data(), kSamples,
                     expected.data());
    const TestStream stream;
    const DeviceArray<float> features_device(stream, features), sq_dist(stream, sq_dist_m2);
    const DeviceArray<std::uint32_t> slots_device(stream, slots);
    const DeviceArray<float> inputs(stream, kSamples * parameters.input_stride);
    ASSERT_EQ(LaunchAnnularSums(parameters, features_device.get(), slots_device.get(),
                                sq_dist.get(), kSamples, inputs.get(), stream.get()),
              0);
    EXPECT_LE(RelativeL2(inputs.Read(), expected), kFieldTolerance);
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

/// Samples of a few rays, some empty, one ray without any.
struct Rays {
  std::vector<std::int32_t> first{0};
  std::vector<float> t_m, delta_m, logits, sq_dist_m2;
  float empty_radius_m = 0.1F;
  float far_m = 2.5F;

  explicit Rays(int ray_count) {
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 7);
    for (int r = 0; r < ray_count; ++r) {
      const int samples = r == 3 ? 0 : static_cast<int>(random.Below(40));
      for (int s = 0; s < samples; ++s) {
        t_m.push_back(0.2F + 0.05F * static_cast<float>(s));
        delta_m.push_back(0.05F);
        for (int c = 0; c < 16; ++c) logits.push_back(static_cast<float>(4 * random.Normal()));
        const float distance = 0.2F * random.Uniform();
        for (int i = 0; i < kGatherWidth; ++i) sq_dist_m2.push_back(distance * distance);
      }
      first.push_back(static_cast<std::int32_t>(t_m.size()));
    }
  }
  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

/// rgb, distance, opacity of each ray, by the formulas in float64.
std::vector<double> Composited(const Rays& rays, double stop_transmittance) {
  std::vector<double> pictures;
  for (std::int64_t r = 0; r < rays.count(); ++r) {
    double transmittance = 1, color[3] = {}, distance = 0;
    for (std::int32_t s = rays.first[r]; s < rays.first[r + 1]; ++s) {
      if (transmittance < stop_transmittance) break;
      if (rays.sq_dist_m2[16 * s] > rays.empty_radius_m * rays.empty_radius_m) continue;
      const float* logit = rays.logits.data() + 16 * s;
      const double sigma = std::log1p(std::exp(double{logit[0]}));
      const double passed = std::exp(-sigma * rays.delta_m[s]);
      const double weight = transmittance * (1 - passed);
      for (int c = 0; c < 3; ++c) color[c] += weight / (1 + std::exp(-double{logit[1 + c]}));
      distance += weight * rays.t_m[s];
      transmittance *= passed;
    }
    for (const double c : color) pictures.push_back(c + transmittance);
    pictures.push_back(distance + transmittance * rays.far_m);
    pictures.push_back(1 - transmittance);
  }
  return pictures;
}

TEST(CompositeDeviceTest, FollowsTheFormulas) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Rays rays(150);
  const TestStream stream;
  const DeviceArray<std::int32_t> first(stream, rays.first);
  const DeviceArray<float> t_m(stream, rays.t_m), delta_m(stream, rays.delta_m);
  const DeviceArray<float> logits(stream, rays.logits), sq_dist_m2(stream, rays.sq_dist_m2);
  for (const float stop : {0.0F, 0.3F}) {
    const DeviceArray<float> rgb(stream, 3 * rays.count()), distance(stream, rays.count()),
        opacity(stream, rays.count());
    ASSERT_EQ(LaunchComposite({rays.count(), first.get(), t_m.get(), delta_m.get(), logits.get(),
                               16, sq_dist_m2.get(), rays.empty_radius_m, rays.far_m, stop},
                              rgb.get(), distance.get(), opacity.get(), stream.get()),
              0);
    const std::vector<double> expected = Composited(rays, stop);
    const std::vector<float> colors = rgb.Read(), distances = distance.Read(),
                             opacities = opacity.Read();
    for (std::int64_t r = 0; r < rays.count(); ++r) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_NEAR(colors[3 * r + c], expected[5 * r + c], kPictureTolerance) << r;
      }
      ASSERT_NEAR(distances[r], expected[5 * r + 3], kPictureTolerance) << r;
      ASSERT_NEAR(opacities[r], expected[5 * r + 4], kPictureTolerance) << r;
    }
  }
}

}  // namespace
}  // namespace interlacer::testing
