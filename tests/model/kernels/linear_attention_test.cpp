#include "model/kernels/linear_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "model/kernels/linear_attention_rows.h"
#include "tests/support/gradient_follows.h"
#include "tests/support/linear_attention_problem.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kLinearSeed = 32;
constexpr LinearAttentionEpsilons kEpsilons;

template <typename T>
LinearProblem<T> MakeProblem(std::int64_t n, int heads, int head_width) {
  return MakeLinearProblem<T>({n, heads, head_width}, kLinearSeed);
}
template <typename T>
LinearResult<T> Attend(const LinearProblem<T>& p) {
  return AttendLinearly(p, ParallelFor);
}

/// The slow, obvious twin: dense A = phi(Q) phi(K)^T per head, rows divided by their sums.
template <typename T>
std::vector<double> DenseForward(const LinearProblem<T>& p) {
  const std::int64_t n = p.shape.n;
  const int d = p.shape.head_width;
  const int stride = p.shape.heads * d;
  const auto phi = [](double x) { return std::max(x, 0.0) + kEpsilons.feature; };
  std::vector<double> out(n * stride, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int h = 0; h < p.shape.heads; ++h) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        double score = 0;
        for (int c = h * d; c < (h + 1) * d; ++c) {
          score += phi(p.q[i * stride + c]) * phi(p.k[j * stride + c]);
        }
        if (!p.key_mask.empty()) score *= p.key_mask[j];
        sum += score;
        for (int c = h * d; c < (h + 1) * d; ++c)
          out[i * stride + c] += score * p.v[j * stride + c];
      }
      sum += static_cast<double>(n) * kEpsilons.normalizer;
      for (int c = h * d; c < (h + 1) * d; ++c) out[i * stride + c] /= sum;
    }
  }
  return out;
}

struct Shape {
  std::int64_t n;
  int heads;
  int head_width;
};
class LinearAttentionTest : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, LinearAttentionTest,
                         ::testing::Values(Shape{1, 1, 1}, Shape{2, 3, 5}, Shape{256, 2, 16},
                                           Shape{257, 4, 16}, Shape{700, 4, 32}, Shape{300, 1, 70}),
                         [](const auto& test) {
                           return std::to_string(test.param.n) + "_" +
                                  std::to_string(test.param.heads) + "_" +
                                  std::to_string(test.param.head_width);
                         });

TEST_P(LinearAttentionTest, ForwardEqualsTheDenseFormula) {
  const auto [n, heads, head_width] = GetParam();
  const LinearProblem<float> in_float = MakeProblem<float>(n, heads, head_width);
  const LinearProblem<double> in_double = MakeProblem<double>(n, heads, head_width);
  EXPECT_LE(RelativeL2(Attend(in_float).out, DenseForward(in_float)), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(Attend(in_double).out, DenseForward(in_double)), kDoubleOpTolerance);
}

TEST_P(LinearAttentionTest, FloatGradientsFollowDoubleInSizeAndDirection) {
  const auto [n, heads, head_width] = GetParam();
  if (n == 1) GTEST_SKIP() << "one token attends to itself: the gradients of q and k vanish";
  const LinearResult<float> got = Attend(MakeProblem<float>(n, heads, head_width));
  const LinearResult<double> expected = Attend(MakeProblem<double>(n, heads, head_width));
  ExpectGradientFollows(got.grad_q, expected.grad_q);
  ExpectGradientFollows(got.grad_k, expected.grad_k);
  ExpectGradientFollows(got.grad_v, expected.grad_v);
}

TEST(LinearAttentionGradients, EqualCentralDifferencesWithAndWithoutMask) {
  for (const bool masked : {false, true}) {
    LinearProblem<double> p = MakeProblem<double>(19, 2, 4);
    if (masked) {
      p.key_mask.assign(19, 1);
      p.key_mask[3] = p.key_mask[18] = 0;
    }
    const LinearResult<double> r = Attend(p);
    const auto loss = [&] {
      const LinearResult<double> again = Attend(p);
      double sum = 0;
      for (std::size_t x = 0; x < again.out.size(); ++x) sum += again.out[x] * p.grad_out[x];
      return sum;
    };
    const double tolerance = kDoubleGradientTolerance;
    EXPECT_LE(RelativeL2(r.grad_q, CentralDifferences(p.q, loss)), tolerance);
    EXPECT_LE(RelativeL2(r.grad_k, CentralDifferences(p.k, loss)), tolerance);
    EXPECT_LE(RelativeL2(r.grad_v, CentralDifferences(p.v, loss)), tolerance);
  }
}

TEST(LinearAttention, MaskedKeysHaveNoInfluence) {
  LinearProblem<double> p = MakeProblem<double>(40, 2, 8);
  p.key_mask.assign(40, 1);
  for (int j = 30; j < 40; ++j) p.key_mask[j] = 0;
  EXPECT_LE(RelativeL2(Attend(p).out, DenseForward(p)), kDoubleOpTolerance);
  const std::vector<double> before = Attend(p).out;
  for (int x = 30 * 16; x < 40 * 16; ++x) p.k[x] = p.v[x] = 1e6;
  EXPECT_EQ(Attend(p).out, before);
}

TEST(LinearAttention, AllNegativeFeaturesGiveTheMeanValue) {
  LinearProblem<double> p = MakeProblem<double>(30, 1, 3);
  for (double& x : p.q) x = -std::abs(x);
  for (double& x : p.k) x = -std::abs(x);
  EXPECT_LE(RelativeL2(Attend(p).out, DenseForward(p)), kDoubleOpTolerance);
}

TEST(LinearAttention, DoesNotDependOnTheNumberOfThreads) {
  const LinearProblem<float> p = MakeProblem<float>(3000, 4, 16);
  SetThreadCount(1);
  const LinearResult<float> one = Attend(p);
  SetThreadCount(3);
  const LinearResult<float> three = Attend(p);
  SetThreadCount(0);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.grad_q, three.grad_q);
  EXPECT_EQ(one.grad_k, three.grad_k);
  EXPECT_EQ(one.grad_v, three.grad_v);
}

/// All four loops over one range of one head, outputs one after the other.
template <typename AddState, typename ApplyState, typename QueryBackward, typename KeyBackward>
std::vector<float> OneHead(int width, const AddState& add_state, const ApplyState& apply_state,
                           const QueryBackward& query_backward, const KeyBackward& key_backward) {
  constexpr int kTokens = 100;
  const LinearProblem<float> p = MakeProblem<float>(kTokens, 1, width);
  const LinearRange range{kTokens, width, 1, width};
  const float epsilon = 1e-3f;
  std::vector<float> scratch(LinearRowScratchCount(width));
  std::vector<float> state((width + 1) * width), grad_state(state.size()), sums(kTokens);
  std::vector<float> out(kTokens * width), dq(out), dk(out), dv(out);
  add_state(range, p.k.data(), p.v.data(), nullptr, epsilon, scratch.data(), state.data());
  apply_state(range, p.q.data(), state.data(), epsilon, 1e-12f, scratch.data(), out.data(),
              sums.data());
  query_backward(range, p.q.data(), out.data(), sums.data(), p.grad_out.data(), state.data(),
                 epsilon, scratch.data(), dq.data(), grad_state.data());
  key_backward(range, p.k.data(), p.v.data(), nullptr, grad_state.data(), epsilon, scratch.data(),
               dk.data(), dv.data());
  std::vector<float> all;
  for (const auto* part : {&state, &grad_state, &sums, &out, &dq, &dk, &dv}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

TEST(LinearAttention, EveryInstructionSetGivesTheSameBits) {
  for (const int width : {7, 16, 32, 40}) {
    const std::vector<float> generic =
        OneHead(width, cpu::LinearAddState<float>, cpu::LinearApplyState<float>,
                cpu::LinearQueryBackward<float>, cpu::LinearKeyBackward<float>);
    if (HostCpuFeatures().avx2) {
      EXPECT_EQ(OneHead(width, avx2::LinearAddState<float>, avx2::LinearApplyState<float>,
                        avx2::LinearQueryBackward<float>, avx2::LinearKeyBackward<float>),
                generic);
    }
    if (HostCpuFeatures().avx512) {
      EXPECT_EQ(OneHead(width, avx512::LinearAddState<float>, avx512::LinearApplyState<float>,
                        avx512::LinearQueryBackward<float>, avx512::LinearKeyBackward<float>),
                generic);
    }
  }
}

TEST(LinearAttention, NoTokensIsNoWork) {
  EXPECT_TRUE(Attend(MakeProblem<float>(0, 2, 4)).out.empty());
}

}  // namespace
}  // namespace interlacer::testing
