#include "model/kernels/grf_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "knn/grid_index.h"
#include "knn/walk_lists.h"
#include "model/kernels/grf_attention_rows.h"
#include "tests/support/clouds.h"
#include "tests/support/gradient_follows.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kGrfSeed = 31;
constexpr GrfEpsilons kEpsilons;
constexpr double kCoefficients[4] = {1, 0.9, 0.7, 0.5};

/// One problem: lists over a cloud, weights per entry and per code, random inputs.
template <typename T>
struct Problem {
  GrfShape shape;
  WalkLists lists;
  TransposedLists transposed;
  std::vector<std::int32_t> nodes;
  std::vector<T> table, weights, q, k, v, grad_out;

  std::int64_t nnz() const { return static_cast<std::int64_t>(lists.entries.size()); }
  GrfPackedPairs<T> packed() const {
    return {lists.offsets.data(), lists.entries.data(), table.data()};
  }
  GrfWeightedPairs<T> weighted() const {
    return {lists.offsets.data(), nodes.data(), weights.data()};
  }
  GrfTransposedPairs by_end_node() const {
    return {transposed.offsets.data(), transposed.roots.data(), transposed.entry_index.data()};
  }
  GrfInputs<T> inputs() const { return {q.data(), k.data(), v.data()}; }
};

template <typename T>
Problem<T> MakeProblem(int n, int qk_width, int v_width) {
  Problem<T> p;
  p.shape = {n, qk_width, v_width};
  p.lists = *BuildWalkLists(*GridIndex().Graph(SheetCloud(n, kGrfSeed), 3));
  p.transposed = Transpose(p.lists);
  const std::vector<double> code_loads = WalkCodeLoads(p.lists.out_degree);
  for (int code = 0; code < 256; ++code) {
    double weight = 0;
    for (int t = 0; t < 4; ++t) weight += kCoefficients[t] * code_loads[4 * code + t];
    p.table.push_back(static_cast<T>(weight));
  }
  for (const std::uint32_t entry : p.lists.entries) {
    p.nodes.push_back(static_cast<std::int32_t>(WalkEntryNode(entry)));
    p.weights.push_back(p.table[WalkEntryCode(entry)]);
  }
  p.q = RandomNormal<T>(n * qk_width, kGrfSeed, 1);
  p.k = RandomNormal<T>(n * qk_width, kGrfSeed, 2);
  p.v = RandomNormal<T>(n * v_width, kGrfSeed, 3);
  p.grad_out = RandomNormal<T>(n * v_width, kGrfSeed, 4);
  return p;
}

template <typename T>
struct Result {
  std::vector<T> out, normalizer, grad_q, grad_k, grad_v, grad_weights;
};

template <typename T, typename Pairs>
Result<T> Attend(const Problem<T>& p, const Pairs& pairs, std::int64_t weight_count) {
  Result<T> r;
  r.out = Poisoned<T>(p.shape.n * p.shape.v_width);
  r.normalizer = Poisoned<T>(p.shape.n);
  r.grad_q = Poisoned<T>(static_cast<std::int64_t>(p.q.size()));
  r.grad_k = Poisoned<T>(static_cast<std::int64_t>(p.k.size()));
  r.grad_v = Poisoned<T>(static_cast<std::int64_t>(p.v.size()));
  r.grad_weights = Poisoned<T>(weight_count);
  std::vector<T> scratch = Poisoned<T>(GrfBackwardScratchCount(p.shape.n, p.nnz()));
  GrfAttentionForward(p.shape, pairs, p.inputs(), kEpsilons, r.out.data(), r.normalizer.data(),
                      ParallelFor);
  GrfAttentionBackward<T>(
      p.shape, pairs, p.by_end_node(), p.inputs(),
      {r.out.data(), r.normalizer.data(), p.grad_out.data()}, kEpsilons,
      {r.grad_q.data(), r.grad_k.data(), r.grad_v.data(), r.grad_weights.data()}, scratch.data(),
      ParallelFor);
  return r;
}

template <typename T>
Result<T> AttendPacked(const Problem<T>& p) {
  return Attend(p, p.packed(), 256);
}
template <typename T>
Result<T> AttendWeighted(const Problem<T>& p) {
  return Attend(p, p.weighted(), p.nnz());
}

/// The slow, obvious twin: dense (A o M) V / ((A o M) 1 + delta) in float64.
template <typename T>
std::vector<double> DenseForward(const Problem<T>& p) {
  const std::int64_t n = p.shape.n;
  std::vector<double> mask(n * n, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int32_t e = p.lists.offsets[i]; e < p.lists.offsets[i + 1]; ++e) {
      mask[i * n + p.nodes[e]] = p.weights[e];
    }
  }
  const auto phi = [](double x) { return std::max(x, 0.0) + kEpsilons.feature; };
  std::vector<double> out(n * p.shape.v_width, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = kEpsilons.normalizer;
    std::vector<double> row(p.shape.v_width, 0);
    for (std::int64_t j = 0; j < n; ++j) {
      double score = 0;
      for (int c = 0; c < p.shape.qk_width; ++c) {
        score += phi(p.q[i * p.shape.qk_width + c]) * phi(p.k[j * p.shape.qk_width + c]);
      }
      sum += mask[i * n + j] * score;
      for (int c = 0; c < p.shape.v_width; ++c) {
        row[c] += mask[i * n + j] * score * p.v[j * p.shape.v_width + c];
      }
    }
    for (int c = 0; c < p.shape.v_width; ++c) out[i * p.shape.v_width + c] = row[c] / sum;
  }
  return out;
}

struct Widths {
  int qk;
  int v;
};
class GrfAttentionTest : public ::testing::TestWithParam<Widths> {};
INSTANTIATE_TEST_SUITE_P(AllWidths, GrfAttentionTest,
                         ::testing::Values(Widths{2, 1}, Widths{5, 19}, Widths{16, 16},
                                           Widths{40, 24}, Widths{64, 64}, Widths{128, 128}),
                         [](const auto& test) {
                           return std::to_string(test.param.qk) + "_" +
                                  std::to_string(test.param.v);
                         });

TEST_P(GrfAttentionTest, ForwardEqualsTheDenseFormula) {
  const Problem<float> in_float = MakeProblem<float>(350, GetParam().qk, GetParam().v);
  const Problem<double> in_double = MakeProblem<double>(350, GetParam().qk, GetParam().v);
  const std::vector<double> dense = DenseForward(in_double);
  EXPECT_LE(RelativeL2(AttendPacked(in_float).out, DenseForward(in_float)), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(AttendWeighted(in_float).out, DenseForward(in_float)), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(AttendPacked(in_double).out, dense), kDoubleOpTolerance);
  EXPECT_LE(RelativeL2(AttendWeighted(in_double).out, dense), kDoubleOpTolerance);
}

TEST_P(GrfAttentionTest, FloatGradientsFollowDoubleInSizeAndDirection) {
  const Problem<float> p = MakeProblem<float>(350, GetParam().qk, GetParam().v);
  Problem<double> wide = MakeProblem<double>(350, GetParam().qk, GetParam().v);
  const Result<float> got = AttendPacked(p);
  const Result<double> expected = AttendPacked(wide);
  ExpectGradientFollows(got.grad_q, expected.grad_q);
  ExpectGradientFollows(got.grad_k, expected.grad_k);
  ExpectGradientFollows(got.grad_v, expected.grad_v);
  ExpectGradientFollows(got.grad_weights, expected.grad_weights);
}

TEST(GrfAttentionGradients, EqualCentralDifferences) {
  Problem<double> p = MakeProblem<double>(23, 5, 3);
  const Result<double> packed = AttendPacked(p);
  const Result<double> weighted = AttendWeighted(p);
  const auto loss = [&](bool with_table) {
    const Result<double> r = with_table ? AttendPacked(p) : AttendWeighted(p);
    double sum = 0;
    for (std::size_t x = 0; x < r.out.size(); ++x) sum += r.out[x] * p.grad_out[x];
    return sum;
  };
  const auto packed_loss = [&] { return loss(true); };
  const auto weighted_loss = [&] { return loss(false); };
  const auto check = [](const std::vector<double>& gradient,
                        const std::vector<double>& differences) {
    EXPECT_LE(RelativeL2(gradient, differences), kDoubleGradientTolerance);
  };
  check(packed.grad_q, CentralDifferences(p.q, packed_loss));
  check(packed.grad_k, CentralDifferences(p.k, packed_loss));
  check(packed.grad_v, CentralDifferences(p.v, packed_loss));
  check(packed.grad_weights, CentralDifferences(p.table, packed_loss));
  check(weighted.grad_q, CentralDifferences(p.q, weighted_loss));
  check(weighted.grad_k, CentralDifferences(p.k, weighted_loss));
  check(weighted.grad_v, CentralDifferences(p.v, weighted_loss));
  check(weighted.grad_weights, CentralDifferences(p.weights, weighted_loss));
}

TEST(GrfAttention, DoesNotDependOnTheNumberOfThreads) {
  const Problem<float> p = MakeProblem<float>(3000, 16, 16);
  SetThreadCount(1);
  const Result<float> one = AttendPacked(p);
  SetThreadCount(3);
  const Result<float> three = AttendPacked(p);
  SetThreadCount(0);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.grad_q, three.grad_q);
  EXPECT_EQ(one.grad_k, three.grad_k);
  EXPECT_EQ(one.grad_v, three.grad_v);
  EXPECT_EQ(one.grad_weights, three.grad_weights);
}

TEST(GrfAttention, EveryInstructionSetGivesTheSameBits) {
  for (const int width : {5, 16, 40, 64}) {
    const Problem<float> p = MakeProblem<float>(300, width, width);
    const Result<float> chosen = AttendPacked(p);
    const auto expect_equal = [&](const auto& forward, const auto& backward, const auto& columns) {
      std::vector<float> phi(2 * width), out = Poisoned<float>(300 * width),
                                         sums = Poisoned<float>(300);
      forward(p.shape, p.packed(), p.inputs(), kEpsilons, 0, 300, phi.data(), out.data(),
              sums.data());
      EXPECT_EQ(out, chosen.out);
      EXPECT_EQ(sums, chosen.normalizer);
      std::vector<float> dq(out), dk(out), dv(out), table(256), value_load(p.nnz()),
          key_load(p.nnz());
      backward(p.shape, p.packed(), p.inputs(), {out.data(), sums.data(), p.grad_out.data()},
               kEpsilons, 0, 300, phi.data(), dq.data(), table.data(), value_load.data(),
               key_load.data());
      columns(p.shape, p.by_end_node(), p.inputs(), p.grad_out.data(), kEpsilons, 0, 300,
              value_load.data(), key_load.data(), dk.data(), dv.data());
      EXPECT_EQ(dq, chosen.grad_q);
      EXPECT_EQ(dk, chosen.grad_k);
      EXPECT_EQ(dv, chosen.grad_v);
    };
    using Pairs = GrfPackedPairs<float>;
    expect_equal(cpu::GrfForwardRows<float, Pairs>, cpu::GrfBackwardRows<float, Pairs>,
                 cpu::GrfBackwardColumns<float>);
    if (HostCpuFeatures().avx2) {
      expect_equal(avx2::GrfForwardRows<float, Pairs>, avx2::GrfBackwardRows<float, Pairs>,
                   avx2::GrfBackwardColumns<float>);
    }
    if (HostCpuFeatures().avx512) {
      expect_equal(avx512::GrfForwardRows<float, Pairs>, avx512::GrfBackwardRows<float, Pairs>,
                   avx512::GrfBackwardColumns<float>);
    }
  }
}

TEST(GrfAttention, AllNegativeFeaturesGiveTheWeightedMean) {
  // phi is the constant epsilon everywhere, so every score is equal.
  Problem<double> p = MakeProblem<double>(200, 4, 2);
  for (double& x : p.q) x = -std::abs(x);
  for (double& x : p.k) x = -std::abs(x);
  const Result<double> r = AttendPacked(p);
  EXPECT_LE(RelativeL2(r.out, DenseForward(p)), kDoubleOpTolerance);
  for (const double g : r.grad_q) ASSERT_EQ(g, 0);  // ReLU is flat there
  for (const double g : r.grad_k) ASSERT_EQ(g, 0);
}

TEST(GrfAttention, RowsWithoutPairsOrWithZeroWeightsAreZero) {
  Problem<float> p = MakeProblem<float>(50, 4, 3);
  std::fill(p.weights.begin(), p.weights.end(), 0.0f);
  Result<float> r = AttendWeighted(p);
  for (const float x : r.out) ASSERT_EQ(x, 0);
  for (const float g : r.grad_v) ASSERT_EQ(g, 0);

  p.lists.offsets.assign(51, 0);
  p.lists.entries.clear();
  p.transposed = Transpose(p.lists);
  r = AttendWeighted(p);
  for (const float x : r.out) ASSERT_EQ(x, 0);
  for (const float g : r.grad_k) ASSERT_EQ(g, 0);
}

TEST(GrfAttention, OneTokenReturnsItsOwnValue) {
  const Problem<double> p = MakeProblem<double>(1, 4, 3);
  EXPECT_LE(RelativeL2(AttendPacked(p).out, p.v), kDoubleOpTolerance);
}

TEST(GrfAttention, NoTokensIsNoWork) {
  const Result<float> r = AttendPacked(MakeProblem<float>(0, 4, 3));
  EXPECT_TRUE(r.out.empty());
  EXPECT_EQ(r.grad_weights, std::vector<float>(256, 0));
}

}  // namespace
}  // namespace interlacer::testing
