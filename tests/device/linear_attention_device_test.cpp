#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/kernels/linear_attention_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/gradient_follows.h"
#include "tests/support/linear_attention_problem.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 34;
constexpr LinearAttentionEpsilons kEpsilons;

LinearProblem<float> MakeProblem(std::int64_t n, int heads, int head_width) {
  return MakeLinearProblem<float>({n, heads, head_width}, kSeed);
}

/// The generic CPU form in float64.
LinearResult<double> OnHost(const LinearProblem<float>& p) {
  const LinearProblem<double> wide{p.shape,
                                   {p.q.begin(), p.q.end()},
                                   {p.k.begin(), p.k.end()},
                                   {p.v.begin(), p.v.end()},
                                   {p.grad_out.begin(), p.grad_out.end()},
                                   {p.key_mask.begin(), p.key_mask.end()}};
  return AttendLinearly(wide, SerialFor);
}

LinearResult<float> OnDevice(const LinearProblem<float>& p) {
  const CheckedStream stream;
  const DeviceArray<float> q(stream, p.q), k(stream, p.k), v(stream, p.v);
  const DeviceArray<float> key_mask(stream, p.key_mask), grad_out(stream, p.grad_out);
  const DeviceArray<float> out(stream, p.count()), state(stream, p.state_count());
  const DeviceArray<float> normalizer(stream, p.shape.n * p.shape.heads);
  const DeviceArray<float> grad_q(stream, p.count()), grad_k(stream, p.count()),
      grad_v(stream, p.count());
  const DeviceArray<float> forward_scratch(stream, LinearCudaScratchCount(p.shape));
  const DeviceArray<float> backward_scratch(stream, LinearCudaScratchCount(p.shape));
  const LinearAttentionInputs<float> inputs{q.get(), k.get(), v.get(), key_mask.get()};
  EXPECT_EQ(LaunchLinearAttentionForward(p.shape, inputs, kEpsilons,
                                         {out.get(), normalizer.get(), state.get()},
                                         forward_scratch.get(), stream.get()),
            0);
  EXPECT_EQ(
      LaunchLinearAttentionBackward(
          p.shape, inputs, {out.get(), normalizer.get(), state.get(), grad_out.get()}, kEpsilons,
          {grad_q.get(), grad_k.get(), grad_v.get()}, backward_scratch.get(), stream.get()),
      0);
  // Without tokens nothing is launched and the state is not written.
  const std::vector<float> sums = p.shape.n > 0 ? state.Read() : std::vector<float>{};
  return {out.Read(), normalizer.Read(), sums, grad_q.Read(), grad_k.Read(), grad_v.Read()};
}

void ExpectClose(const LinearResult<float>& got, const LinearResult<double>& expected) {
  EXPECT_LE(RelativeL2(got.out, expected.out), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(got.normalizer, expected.normalizer), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(got.state, expected.state), kFloatOpTolerance);
  ExpectGradientFollows(got.grad_q, expected.grad_q);
  ExpectGradientFollows(got.grad_k, expected.grad_k);
  ExpectGradientFollows(got.grad_v, expected.grad_v);
}

class LinearAttentionDeviceTest : public ::testing::TestWithParam<LinearAttentionShape> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, LinearAttentionDeviceTest,
    ::testing::Values(LinearAttentionShape{2, 3, 5}, LinearAttentionShape{128, 2, 16},
                      LinearAttentionShape{513, 4, 16}, LinearAttentionShape{1100, 4, 32},
                      LinearAttentionShape{300, 1, 64}, LinearAttentionShape{90, 2, 33},
                      LinearAttentionShape{40, 1, 2}),
    [](const auto& test) {
      return std::to_string(test.param.n) + "_" + std::to_string(test.param.heads) + "_" +
             std::to_string(test.param.head_width);
    });

TEST_P(LinearAttentionDeviceTest, ValuesAndGradientsFollowDouble) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const auto [n, heads, head_width] = GetParam();
  const LinearProblem<float> p = MakeProblem(n, heads, head_width);
  ExpectClose(OnDevice(p), OnHost(p));
}

TEST(LinearAttentionDevice, MaskedKeysHaveNoInfluence) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  LinearProblem<float> p = MakeProblem(600, 2, 8);
  p.key_mask.assign(600, 1);
  for (int j = 400; j < 600; ++j) p.key_mask[j] = 0;
  ExpectClose(OnDevice(p), OnHost(p));
  const std::vector<float> before = OnDevice(p).out;
  for (int x = 400 * 16; x < 600 * 16; ++x) p.k[x] = p.v[x] = NAN;
  EXPECT_EQ(OnDevice(p).out, before);
}

TEST(LinearAttentionDevice, AllNegativeFeaturesGiveTheMeanValue) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  LinearProblem<float> p = MakeProblem(30, 1, 3);
  for (float& x : p.q) x = -std::abs(x);
  for (float& x : p.k) x = -std::abs(x);
  const LinearResult<float> r = OnDevice(p);
  EXPECT_LE(RelativeL2(r.out, OnHost(p).out), kFloatOpTolerance);
  for (const float g : r.grad_q) ASSERT_EQ(g, 0);  // ReLU is flat there
  for (const float g : r.grad_k) ASSERT_EQ(g, 0);
}

TEST(LinearAttentionDevice, OneTokenReturnsItsOwnValue) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const LinearProblem<float> p = MakeProblem(1, 2, 4);
  EXPECT_LE(RelativeL2(OnDevice(p).out, p.v), kFloatOpTolerance);
}

TEST(LinearAttentionDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const LinearProblem<float> p = MakeProblem(1300, 4, 16);
  const LinearResult<float> a = OnDevice(p), b = OnDevice(p);
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.grad_q, b.grad_q);
  EXPECT_EQ(a.grad_k, b.grad_k);
  EXPECT_EQ(a.grad_v, b.grad_v);
}

TEST(LinearAttentionDevice, NoTokensIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(MakeProblem(0, 2, 4)).out.empty());
}

TEST(LinearAttentionDevice, RefusesHeadsThatAreTooWide) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_NE(LaunchLinearAttentionForward({10, 1, kMaxLinearCudaWidth + 1}, {}, kEpsilons, {},
                                         nullptr, stream.get()),
            0);
}

}  // namespace
}  // namespace interlacer::testing
