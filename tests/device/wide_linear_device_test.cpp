#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/kernels/bfloat16.h"
#include "common/kernels/parallel_for.h"
#include "model/kernels/wide_linear_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 36;
constexpr LinearAttentionEpsilons kEpsilons;

struct Problem {
  LinearAttentionShape shape;
  std::vector<float> q, k, v;  ///< bfloat16 numbers

  Problem(std::int64_t n, int heads, int head_width) : shape{n, heads, head_width} {
    q = Draw(1);
    k = Draw(2);
    v = Draw(3);
  }
  std::int64_t count() const { return shape.n * shape.heads * shape.head_width; }

 private:
  std::vector<float> Draw(std::uint32_t which) const {
    std::vector<float> values = RandomNormal<float>(count(), kSeed, which);
    for (float& x : values) x = RoundedToBfloat16(x);
    return values;
  }
};

std::vector<std::uint16_t> Bits(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float x : values) bits.push_back(ToBfloat16(x));
  return bits;
}

/// The plain CPU form in float64.
std::vector<double> OnHost(const Problem& p) {
  const std::vector<double> q(p.q.begin(), p.q.end()), k(p.k.begin(), p.k.end()),
      v(p.v.begin(), p.v.end());
  std::vector<double> out(q.size()),
      normalizer(static_cast<std::size_t>(p.shape.n * p.shape.heads)),
      state(
          static_cast<std::size_t>(p.shape.heads * p.shape.head_width * (p.shape.head_width + 1))),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(p.shape)));
  LinearAttentionForward<double>(p.shape, {q.data(), k.data(), v.data(), nullptr}, kEpsilons,
                                 {out.data(), normalizer.data(), state.data()}, scratch.data(),
                                 SerialFor);
  return out;
}

std::vector<std::uint16_t> OnDevice(const Problem& p) {
  const CheckedStream stream;
  const DeviceArray<std::uint16_t> q(stream, Bits(p.q)), k(stream, Bits(p.k)), v(stream, Bits(p.v));
  const DeviceArray<std::uint16_t> out(stream, p.count());
  const DeviceArray<float> scratch(stream, WideLinearScratchCount(p.shape));
  EXPECT_EQ(LaunchWideLinearAttention(p.shape, q.get(), k.get(), v.get(), kEpsilons, scratch.get(),
                                      out.get(), stream.get()),
            0);
  return out.Read();
}

class WideLinearDeviceTest : public ::testing::TestWithParam<LinearAttentionShape> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, WideLinearDeviceTest,
    ::testing::Values(LinearAttentionShape{1, 1, 32}, LinearAttentionShape{33, 2, 96},
                      LinearAttentionShape{300, 4, 128}, LinearAttentionShape{1101, 2, 128},
                      LinearAttentionShape{200, 1, 160}, LinearAttentionShape{130, 1, 512}),
    [](const auto& test) {
      return std::to_string(test.param.n) + "_" + std::to_string(test.param.heads) + "_" +
             std::to_string(test.param.head_width);
    });

TEST_P(WideLinearDeviceTest, FollowsDoubleAsFarAsBf16Allows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(GetParam().n, GetParam().heads, GetParam().head_width);
  EXPECT_LE(RelativeL2(FromBfloat16(OnDevice(p)), OnHost(p)), kBf16OpTolerance);
}

TEST(WideLinearDevice, AllNegativeFeaturesGiveTheMeanValue) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(50, 1, 64);
  for (float& x : p.q) x = -std::abs(x);
  for (float& x : p.k) x = -std::abs(x);
  EXPECT_LE(RelativeL2(FromBfloat16(OnDevice(p)), OnHost(p)), kBf16OpTolerance);
}

TEST(WideLinearDevice, NanReachesEveryToken) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(40, 2, 64);
  p.v[13 * 128 + 64 + 5] = NAN;
  const std::vector<float> out = FromBfloat16(OnDevice(p));
  for (std::size_t x = 0; x < out.size(); ++x) {
    ASSERT_EQ(std::isnan(out[x]), x % 128 == 64 + 5) << x;
  }
}

TEST(WideLinearDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(1500, 1, 128);
  EXPECT_EQ(OnDevice(p), OnDevice(p));
}

TEST(WideLinearDevice, NoTokensIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(Problem(0, 2, 128)).empty());
}

TEST(WideLinearDevice, RefusesWhatItDoesNotTake) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  for (const LinearAttentionShape& shape :
       {LinearAttentionShape{10, 1, 48}, LinearAttentionShape{10, 0, 64},
        LinearAttentionShape{10, 1, kMaxWideLinearHead + 32}}) {
    EXPECT_FALSE(FitsWideLinear(shape));
    EXPECT_NE(LaunchWideLinearAttention(shape, nullptr, nullptr, nullptr, kEpsilons, nullptr,
                                        nullptr, stream.get()),
              0);
  }
}

}  // namespace
}  // namespace interlacer::testing
