/// Fused attention layers against projections, mixing and sum one by one in float64.

#include "model/kernels/fused_attention.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/thread_pool.h"
#include "knn/grid_index.h"
#include "knn/walk_lists.h"
#include "tests/model/kernels/fused_reference.h"
#include "tests/support/clouds.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kWidth = 128;
constexpr LinearAttentionEpsilons kLinearEpsilons;
constexpr GrfEpsilons kGrfEpsilons;

struct Attention {
  std::vector<float> scale = RandomNormal<float>(kWidth, 3, 1);
  std::vector<float> bias = RandomNormal<float>(kWidth, 3, 2);
  Layer query, key, value = RandomLayer(kWidth, kWidth, 30), out = RandomLayer(kWidth, kWidth, 40);

  explicit Attention(int key_width)
      : query(RandomLayer(kWidth, key_width, 10)), key(RandomLayer(kWidth, key_width, 20)) {}
  FusedProjections packed() const {
    return {{scale.data(), bias.data(), 1e-5F},
            query.packed(),
            key.packed(),
            value.packed(),
            out.weight.data(),
            out.bias.data()};
  }
};

struct Projected {
  std::vector<double> q, k, v;
};
Projected Project(const Attention& layers, const std::vector<float>& h) {
  const std::vector<double> normed = NormReference(h, kWidth, layers.scale, layers.bias);
  return {DenseReference(normed, layers.query), DenseReference(normed, layers.key),
          DenseReference(normed, layers.value)};
}

std::vector<double> LinearUpdate(const Attention& layers, const std::vector<float>& h, int heads) {
  const Projected p = Project(layers, h);
  const LinearAttentionShape shape{static_cast<std::int64_t>(h.size()) / kWidth, heads,
                                   kWidth / heads};
  std::vector<double> mixed(h.size()), normalizer(shape.n * heads), state(kWidth * (kWidth + 1));
  std::vector<double> scratch(static_cast<std::size_t>(LinearAttentionScratchCount(shape)));
  LinearAttentionForward<double>(shape, {p.q.data(), p.k.data(), p.v.data(), nullptr},
                                 kLinearEpsilons, {mixed.data(), normalizer.data(), state.data()},
                                 scratch.data(), &ParallelFor);
  return DenseReference(mixed, layers.out);
}

struct Mask {
  WalkLists lists;
  std::vector<float> table;
  explicit Mask(int n) : lists(*BuildWalkLists(*GridIndex().Graph(SheetCloud(n, 31), 3))) {
    const std::vector<double> loads = WalkCodeLoads(lists.out_degree);
    for (int code = 0; code < 256; ++code) {
      table.push_back(static_cast<float>(loads[4 * code] + 0.9 * loads[4 * code + 1] +
                                         0.7 * loads[4 * code + 2] + 0.5 * loads[4 * code + 3]));
    }
  }
  template <typename T>
  GrfPackedPairs<T> pairs(const std::vector<T>& weights) const {
    return {lists.offsets.data(), lists.entries.data(), weights.data()};
  }
};

std::vector<double> GrfUpdate(const Attention& layers, const std::vector<float>& h,
                              const Mask& mask) {
  const Projected p = Project(layers, h);
  const std::int64_t n = static_cast<std::int64_t>(h.size()) / kWidth;
  std::vector<double> mixed(h.size()), normalizer(n);
  const std::vector<double> table(mask.table.begin(), mask.table.end());
  GrfAttentionForward<double>({n, layers.query.out, kWidth}, mask.pairs(table),
                              {p.q.data(), p.k.data(), p.v.data()}, kGrfEpsilons, mixed.data(),
                              normalizer.data(), &ParallelFor);
  return DenseReference(mixed, layers.out);
}

/// The update of the rows; the others must not change.
void ExpectAdded(const std::vector<float>& before, const std::vector<float>& after, RowRange rows,
                 const std::vector<double>& update) {
  std::vector<double> got, expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / kWidth);
    if (row >= rows.begin && row < rows.end) {
      got.push_back(static_cast<double>(after[i]) - before[i]);
      expected.push_back(update[i]);
    } else {
      ASSERT_EQ(after[i], before[i]) << "row " << row;
    }
  }
  EXPECT_LE(RelativeL2(got, expected), kBfloat16OpTolerance);
}

/// Row counts: one, less than a tile, a chunk and one more, several tasks.
class FusedAttention : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!CanFuseDense(kWidth, kWidth)) GTEST_SKIP() << "this processor has no AVX-512 BF16";
  }
  std::vector<float> AfterGrf(const Attention& layers, const Mask& mask, RowRange rows,
                              ParallelForFunction parallel_for) const {
    std::vector<float> h = h_;
    std::vector<std::uint16_t> keys_values(static_cast<std::size_t>(n_) *
                                           (layers.key.out + kWidth));
    AddGrfAttention(n_, layers.packed(), mask.pairs(mask.table), kGrfEpsilons, rows,
                    keys_values.data(), h.data(), parallel_for);
    return h;
  }
  std::vector<float> AfterLinear(const Attention& layers, int heads, RowRange rows,
                                 ParallelForFunction parallel_for) const {
    std::vector<float> h = h_;
    AddLinearAttention(n_, layers.packed(), heads, kLinearEpsilons, rows, h.data(), parallel_for);
    return h;
  }
  int n_ = GetParam();
  RowRange all_{0, n_};
  RowRange middle_{n_ / 3, n_ - n_ / 4};
  std::vector<float> h_ = RandomNormal<float>(std::int64_t{n_} * kWidth, 3, 0);
};

TEST_P(FusedAttention, LinearEqualsItsParts) {
  const Attention layers(kWidth);
  for (const int heads : {1, 4, 8}) {
    SCOPED_TRACE(heads);
    const std::vector<double> update = LinearUpdate(layers, h_, heads);
    ExpectAdded(h_, AfterLinear(layers, heads, all_, &ParallelFor), all_, update);
    ExpectAdded(h_, AfterLinear(layers, heads, middle_, &ParallelFor), middle_, update);
  }
}

TEST_P(FusedAttention, GrfEqualsItsParts) {
  const Mask mask(n_);
  for (const int key_width : {64, 128}) {
    SCOPED_TRACE(key_width);
    const Attention layers(key_width);
    const std::vector<double> update = GrfUpdate(layers, h_, mask);
    ExpectAdded(h_, AfterGrf(layers, mask, all_, &ParallelFor), all_, update);
    ExpectAdded(h_, AfterGrf(layers, mask, middle_, &ParallelFor), middle_, update);
  }
}

TEST_P(FusedAttention, ThreadsDoNotChangeTheBits) {
  const Attention layers(kWidth);
  const Mask mask(n_);
  EXPECT_EQ(AfterLinear(layers, 4, all_, &ParallelFor), AfterLinear(layers, 4, all_, &SerialFor));
  EXPECT_EQ(AfterGrf(layers, mask, all_, &ParallelFor), AfterGrf(layers, mask, all_, &SerialFor));
}

INSTANTIATE_TEST_SUITE_P(Rows, FusedAttention, ::testing::Values(1, 5, 97, 2000),
                         ::testing::PrintToStringParamName());

TEST(FusedAttentionEdgeTest, NoRows) {
  if (!CanFuseDense(kWidth, kWidth)) GTEST_SKIP() << "this processor has no AVX-512 BF16";
  const Attention layers(kWidth);
  const std::int32_t offset = 0;
  const std::vector<float> before(kWidth, 7);
  std::vector<float> h = before;
  std::vector<std::uint16_t> keys_values(2 * kWidth, 7);
  AddLinearAttention(0, layers.packed(), 4, kLinearEpsilons, {}, h.data(), &SerialFor);
  AddGrfAttention(0, layers.packed(), {&offset, nullptr, nullptr}, kGrfEpsilons, {},
                  keys_values.data(), h.data(), &SerialFor);
  EXPECT_EQ(h, before);
  EXPECT_EQ(keys_values, std::vector<std::uint16_t>(2 * kWidth, 7));
}

TEST(FusedAttentionEdgeTest, ARowWithoutPairsGetsTheBiasAlone) {
  if (!CanFuseDense(kWidth, kWidth)) GTEST_SKIP() << "this processor has no AVX-512 BF16";
  const Attention layers(kWidth);
  const std::vector<std::int32_t> offsets{0, 0};
  const std::vector<float> table(256, 1);
  std::vector<std::uint16_t> keys_values(2 * kWidth);
  std::vector<float> h(kWidth, 0);
  AddGrfAttention(1, layers.packed(), {offsets.data(), nullptr, table.data()}, kGrfEpsilons, {0, 1},
                  keys_values.data(), h.data(), &SerialFor);
  EXPECT_EQ(h, layers.out.bias);
}

}  // namespace
}  // namespace interlacer::testing
