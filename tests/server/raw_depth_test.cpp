/// Raw depth: every instruction set against the definition, and the median that is never sorted.

#include "server/convert/raw_depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/kernels/cpu_features.h"

namespace interlacer {
namespace {

constexpr PlausibleDepth kPlausible = {0.05, 20.0};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Kernels {
  std::string name;
  decltype(&cpu::RawDepthUnits) units;
  decltype(&cpu::RawDepthFloats) floats;
};

std::vector<Kernels> KernelsOfThisMachine() {
  std::vector<Kernels> kernels = {{"cpu", cpu::RawDepthUnits, cpu::RawDepthFloats}};
  if (HostCpuFeatures().avx2) {
    kernels.push_back({"avx2", avx2::RawDepthUnits, avx2::RawDepthFloats});
  }
  if (HostCpuFeatures().avx512) {
    kernels.push_back({"avx512", avx512::RawDepthUnits, avx512::RawDepthFloats});
  }
  return kernels;
}

template <typename T>
std::vector<std::uint8_t> BytesOf(const std::vector<T>& values, std::size_t shift) {
  std::vector<std::uint8_t> bytes(shift + values.size() * sizeof(T));
  std::memcpy(bytes.data() + shift, values.data(), values.size() * sizeof(T));
  return bytes;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool IsUpperMedianPlausible(std::vector<float> depth_m) {
  std::erase_if(depth_m, [](float z) { return !std::isfinite(z); });
  if (depth_m.empty()) return true;
  std::sort(depth_m.begin(), depth_m.end());
  const float median_m = depth_m[depth_m.size() / 2];
  return median_m >= kPlausible.min_m && median_m <= kPlausible.max_m;
}

class RawDepthTest : public ::testing::TestWithParam<Kernels> {};

TEST_P(RawDepthTest, AllUnitsAtAnyAddress) {
  std::vector<std::uint16_t> units(65536);
  for (std::size_t i = 0; i < units.size(); ++i) units[i] = static_cast<std::uint16_t>(i);
  const RawDepthRange range{51, 20000, 65535};
  for (const double unit_m : {1e-3, 1e-4, 2.5e-4, 0.0123456789}) {
    std::vector<float> expected;
    for (const int u : units) expected.push_back(u == 0 ? kNan : static_cast<float>(u * unit_m));
    for (const std::size_t shift : {0, 1, 3}) {
      const auto bytes = BytesOf(units, shift);
      std::vector<float> depth_m(units.size(), -1);
      RawDepthTally tally;
      GetParam().units(bytes.data() + shift, 65536, unit_m, range, depth_m.data(), &tally);
      EXPECT_TRUE(SameBits(depth_m, expected)) << unit_m << " at " << shift;
      EXPECT_EQ(tally.measured, 65535);
      EXPECT_EQ(tally.too_near, 50);
      EXPECT_EQ(tally.too_far, 65535 - 20000);
    }
  }
}

TEST_P(RawDepthTest, FloatsWithoutMeasurementBecomeNan) {
  std::vector<float> values = {kNan,   -kNan,     0.0f,       -0.0f, -1.0f,
                               1e-40f, kInfinity, -kInfinity, 0.5f,  30.0f};
  std::vector<float> expected = {kNan, kNan, kNan, kNan, kNan, 1e-40f, kNan, kNan, 0.5f, 30.0f};
  for (int doubling = 0; doubling < 10; ++doubling) {
    values.insert(values.end(), values.begin(), values.end());
    expected.insert(expected.end(), expected.begin(), expected.end());
  }
  std::vector<float> depth_m(values.size(), -1);
  RawDepthTally tally;
  const RawDepthRange range{0x3d4ccccdu, 0x41a00000u, 0x7f7fffffu};  // 0.05 m, 20 m, largest
  const auto bytes = BytesOf(values, 1);
  GetParam().floats(bytes.data() + 1, static_cast<std::int64_t>(values.size()), range,
                    depth_m.data(), &tally);
  EXPECT_TRUE(SameBits(depth_m, expected));
  EXPECT_EQ(tally.measured, 3 * 1024);
  EXPECT_EQ(tally.too_near, 1024);
  EXPECT_EQ(tally.too_far, 1024);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RawDepthTest, ::testing::ValuesIn(KernelsOfThisMachine()),
                         [](const auto& kernels) { return kernels.param.name; });

TEST(RawDepthMedianTest, AgreesWithSorting) {
  std::mt19937 random(20);
  int plausible_count = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    // Units around which either end of the range, or neither, lies near the middle.
    const double unit_m = std::pow(10.0, std::uniform_real_distribution<>(-7, -2)(random));
    std::vector<std::uint16_t> units(1 + round % 9);
    for (auto& u : units) u = static_cast<std::uint16_t>(random() % 3 == 0 ? 0 : random() % 65536);
    RawDepthDecoder decoder = RawDepthDecoder::Uint16(unit_m, kPlausible);
    std::vector<float> depth_m(units.size());
    const auto bytes = BytesOf(units, 0);
    decoder.Decode(bytes.data(), static_cast<std::int64_t>(units.size()), depth_m.data());
    EXPECT_EQ(decoder.IsMedianPlausible(), IsUpperMedianPlausible(depth_m)) << "round " << round;

    RawDepthDecoder floats = RawDepthDecoder::Float32(kPlausible);
    const auto float_bytes = BytesOf(depth_m, 0);
    std::vector<float> again_m(depth_m.size());
    floats.Decode(float_bytes.data(), static_cast<std::int64_t>(depth_m.size()), again_m.data());
    EXPECT_TRUE(SameBits(again_m, depth_m));
    EXPECT_EQ(floats.IsMedianPlausible(), decoder.IsMedianPlausible());
    plausible_count += decoder.IsMedianPlausible() ? 1 : 0;
  }
  EXPECT_GT(plausible_count, kRounds / 10);
  EXPECT_LT(plausible_count, kRounds * 9 / 10);
}

TEST(RawDepthMedianTest, EndsOfTheRangeBelongToIt) {
  for (const auto& [value_m, plausible] :
       {std::pair{0.05f, true}, std::pair{std::nextafter(0.05f, 0.0f), false},
        std::pair{20.0f, true}, std::pair{std::nextafter(20.0f, 21.0f), false}}) {
    RawDepthDecoder decoder = RawDepthDecoder::Float32(kPlausible);
    const auto bytes = BytesOf(std::vector<float>{value_m}, 0);
    float depth_m = 0;
    decoder.Decode(bytes.data(), 1, &depth_m);
    EXPECT_EQ(decoder.IsMedianPlausible(), plausible) << value_m;
  }
}

/// A unit so large that metres overflow: nothing is measured, so nothing is implausible.
TEST(RawDepthMedianTest, OverflowingUnits) {
  RawDepthDecoder decoder = RawDepthDecoder::Uint16(1e300, kPlausible);
  const auto bytes = BytesOf(std::vector<std::uint16_t>{1, 2, 65535}, 0);
  float depth_m[3];
  decoder.Decode(bytes.data(), 3, depth_m);
  EXPECT_EQ(depth_m[0], kInfinity);
  EXPECT_TRUE(decoder.IsMedianPlausible());
}

}  // namespace
}  // namespace interlacer
