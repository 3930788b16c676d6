#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "model/kernels/dynamics_head_cuda.h"
#include "tests/device/device_array.h"
#include "tests/model/kernels/fused_reference.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 37;
constexpr int kFeatures = 16;
constexpr float kMaxDisplacementM = 0.25F;

struct Norm {
  std::vector<float> scale, bias;
  Norm(int width, std::uint32_t which)
      : scale(RandomNormal<float>(width, kSeed, which)),
        bias(RandomNormal<float>(width, kSeed, which + 1)) {}
};

struct Problem {
  int width;
  Norm last, position, feature;
  Layer to_position, to_feature, to_gate;
  bool has_gate = false;
  float min_displacement_m = 0;
  std::vector<float> h, positions_m, features;
  std::vector<std::int64_t> particle_at;

  Problem(std::int64_t n, int width_)
      : width(width_),
        last(width, 1),
        position(width, 3),
        feature(width, 5),
        to_position(RandomLayer(width, 3, 10)),
        to_feature(RandomLayer(width, kFeatures, 20)),
        to_gate(RandomLayer(width, 1, 30)),
        h(RandomNormal<float>(n * width, kSeed, 7)),
        positions_m(RandomNormal<float>(n * 3, kSeed, 8)),
        features(RandomNormal<float>(n * kFeatures, kSeed, 9)),
        particle_at(static_cast<std::size_t>(n)) {
    std::iota(particle_at.begin(), particle_at.end(), 0);
    std::reverse(particle_at.begin(), particle_at.end());
  }
  std::int64_t n() const { return static_cast<std::int64_t>(particle_at.size()); }
};

template <typename T>
struct Cloud {
  std::vector<T> positions_m, features;
};

/// Changes of the cloud computed in float64, by particle.
Cloud<double> ChangeOnHost(const Problem& p) {
  const auto normed = [&](const std::vector<double>& x, const Norm& norm) {
    return NormReference({x.begin(), x.end()}, p.width, norm.scale, norm.bias);
  };
  const std::vector<double> y = normed({p.h.begin(), p.h.end()}, p.last);
  const std::vector<double> d = DenseReference(normed(y, p.position), p.to_position);
  const std::vector<double> f = DenseReference(normed(y, p.feature), p.to_feature);
  const std::vector<double> g = DenseReference(normed(y, p.position), p.to_gate);
  Cloud<double> change{std::vector<double>(d.size()), std::vector<double>(f.size())};
  for (std::int64_t row = 0; row < p.n(); ++row) {
    const std::int64_t to = p.particle_at[row];
    const double gate = p.has_gate ? 1 / (1 + std::exp(-g[row])) : 1;
    double* const moved_m = &change.positions_m[3 * to];
    for (int a = 0; a < 3; ++a) {
      moved_m[a] = gate * kMaxDisplacementM * std::tanh(d[3 * row + a]);
    }
    if (std::hypot(moved_m[0], moved_m[1], moved_m[2]) < p.min_displacement_m) {
      std::fill_n(moved_m, 3, 0.);
    }
    for (int c = 0; c < kFeatures; ++c) {
      change.features[kFeatures * to + c] = gate * f[kFeatures * row + c];
    }
  }
  return change;
}

Cloud<float> OnDevice(const Problem& p, bool in_order = false) {
  const CheckedStream stream;
  const auto array = [&](const std::vector<float>& x) { return DeviceArray<float>(stream, x); };
  const DeviceArray<float> scale[3] = {array(p.last.scale), array(p.position.scale),
                                       array(p.feature.scale)};
  const DeviceArray<float> bias[3] = {array(p.last.bias), array(p.position.bias),
                                      array(p.feature.bias)};
  const DeviceArray<float> wp = array(p.to_position.weight), bp = array(p.to_position.bias),
                           wf = array(p.to_feature.weight), bf = array(p.to_feature.bias),
                           wg = array(p.to_gate.weight), bg = array(p.to_gate.bias), h = array(p.h),
                           x = array(p.positions_m), f = array(p.features);
  const DeviceArray<std::int64_t> particle_at(stream, p.particle_at);
  const DeviceArray<float> next_x(stream, 3 * p.n()), next_f(stream, kFeatures * p.n());
  EXPECT_EQ(LaunchDynamicsHead(p.n(), p.width,
                               {{scale[0].get(), bias[0].get()},
                                {scale[1].get(), bias[1].get()},
                                wp.get(),
                                bp.get(),
                                {scale[2].get(), bias[2].get()},
                                wf.get(),
                                bf.get(),
                                kFeatures,
                                kMaxDisplacementM,
                                p.min_displacement_m,
                                p.has_gate ? wg.get() : nullptr,
                                p.has_gate ? bg.get() : nullptr},
                               h.get(),
                               {in_order ? nullptr : particle_at.get(), x.get(), f.get(),
                                next_x.get(), next_f.get()},
                               stream.get()),
            0);
  return {next_x.Read(), next_f.Read()};
}

std::vector<double> Difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference.push_back(static_cast<double>(a[i]) - b[i]);
  }
  return difference;
}

class DynamicsHeadDeviceTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, DynamicsHeadDeviceTest, ::testing::Values(64, 128, 256),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(DynamicsHeadDeviceTest, ChangesFollowDouble) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const std::int64_t n : {1, 3, 127, 130}) {
    const Problem p(n, GetParam());
    const Cloud<double> change = ChangeOnHost(p);
    const Cloud<float> next = OnDevice(p);
    EXPECT_LE(RelativeL2(Difference(next.positions_m, p.positions_m), change.positions_m),
              kFloatOpTolerance);
    EXPECT_LE(RelativeL2(Difference(next.features, p.features), change.features),
              kFloatOpTolerance);
  }
}

TEST_P(DynamicsHeadDeviceTest, AGateAndADeadZoneFollowDouble) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(130, GetParam());
  p.has_gate = true;
  std::vector<double> lengths_m;
  const std::vector<double> moved_m = ChangeOnHost(p).positions_m;
  for (std::size_t i = 0; i < moved_m.size(); i += 3) {
    lengths_m.push_back(std::hypot(moved_m[i], moved_m[i + 1], moved_m[i + 2]));
  }
  std::sort(lengths_m.begin(), lengths_m.end());
  // Between two lengths, so that rounding decides for none.
  p.min_displacement_m = static_cast<float>((lengths_m[64] + lengths_m[65]) / 2);
  const Cloud<double> change = ChangeOnHost(p);
  const Cloud<float> next = OnDevice(p);
  int still = 0;
  for (std::size_t i = 0; i < p.positions_m.size(); i += 3) {
    if (change.positions_m[i] != 0) continue;
    ++still;
    for (std::size_t a = i; a < i + 3; ++a) ASSERT_EQ(next.positions_m[a], p.positions_m[a]);
  }
  EXPECT_EQ(still, 65);
  EXPECT_LE(RelativeL2(Difference(next.positions_m, p.positions_m), change.positions_m),
            kFloatOpTolerance);
  EXPECT_LE(RelativeL2(Difference(next.features, p.features), change.features), kFloatOpTolerance);
}

TEST(DynamicsHeadDevice, WithoutAnOrderRowsAreParticles) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(20, 64);
  std::iota(p.particle_at.begin(), p.particle_at.end(), 0);
  EXPECT_EQ(OnDevice(p, true).positions_m, OnDevice(p).positions_m);
  EXPECT_EQ(OnDevice(p, true).features, OnDevice(p).features);
}

TEST(DynamicsHeadDevice, NanStaysWithItsParticle) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(9, 64);
  p.h[64 * 2 + 11] = NAN;
  const Cloud<float> next = OnDevice(p);
  for (int x = 0; x < 27; ++x) {
    ASSERT_EQ(std::isnan(next.positions_m[x]), x / 3 == p.particle_at[2]);
  }
}

TEST(DynamicsHeadDevice, NoRowsAreNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(Problem(0, 64)).features.empty());
}

TEST(DynamicsHeadDevice, RefusesWhatItDoesNotTake) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  DynamicsHeadLayers layers;
  EXPECT_NE(LaunchDynamicsHead(1, 96, layers, nullptr, {}, stream.get()), 0);
  layers.feature_norm.epsilon = 1e-3F;
  EXPECT_NE(LaunchDynamicsHead(1, 64, layers, nullptr, {}, stream.get()), 0);
}

}  // namespace
}  // namespace interlacer::testing
