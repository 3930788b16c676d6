/// Attention operations against dense float64 formulas, values and gradients.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>

#include "knn/walk_lists.h"
#include "model/ops/grf_attention_op.h"
#include "model/ops/linear_attention_op.h"
#include "tests/model/gradient_check.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"
#include "tests/support/weighted_lists.h"

namespace interlacer::testing {
namespace {

constexpr double kFeatureEpsilon = 1e-3;
constexpr double kNormalizerEpsilon = 1e-12;
constexpr int kNeighbors = 3;

torch::Tensor Phi(const torch::Tensor& x) { return at::relu(x) + kFeatureEpsilon; }

/// (A . M) V / (A . M) 1 with A = phi(Q) phi(K)^T.
torch::Tensor DenseMasked(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                          const torch::Tensor& mask) {
  const torch::Tensor weights = at::matmul(Phi(q), Phi(k).t()) * mask;
  return at::matmul(weights, v) / (weights.sum(1, true) + kNormalizerEpsilon);
}

torch::Tensor DenseLinear(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                          int heads) {
  const torch::Tensor ones = at::ones({q.size(0), q.size(0)}, q.options());
  std::vector<torch::Tensor> parts;
  for (int head = 0; head < heads; ++head) {
    const std::int64_t width = q.size(1) / heads;
    parts.push_back(DenseMasked(q.narrow(1, head * width, width), k.narrow(1, head * width, width),
                                v.narrow(1, head * width, width), ones));
  }
  return at::cat(parts, 1);
}

KnnGraph GraphOf(const Cloud& cloud) { return BruteForceGraph(cloud, kNeighbors); }

/// W [n,n]: 1/3 on every edge.
torch::Tensor Adjacency(const KnnGraph& graph) {
  const torch::Tensor w = at::zeros({graph.n, graph.n}, at::kDouble);
  auto rows = w.accessor<double, 2>();
  for (std::int64_t i = 0; i < graph.n; ++i) {
    for (int e = 0; e < graph.out_degree; ++e) {
      rows[i][graph.neighbors[i * graph.out_degree + e]] += 1.0 / graph.out_degree;
    }
  }
  return w;
}

/// M = sum_t F_t W^t.
torch::Tensor PowerSeries(const torch::Tensor& w, const torch::Tensor& f) {
  torch::Tensor power = at::eye(w.size(0), w.options());
  torch::Tensor mask = f[0] * power;
  for (std::int64_t t = 1; t < f.size(0); ++t) {
    power = at::matmul(power, w);
    mask = mask + f[t] * power;
  }
  return mask;
}

struct Inputs {
  torch::Tensor q, k, v, f;
};

Inputs RandomInputs(std::int64_t n, int width, at::ScalarType type) {
  return {at::randn({n, width}, type), at::randn({n, width}, type), at::randn({n, width}, type),
          at::tensor({1.0, 0.9, 0.7, 0.4}, at::kDouble).to(type)};
}

torch::Tensor MaskedByWalks(const Inputs& in, const std::shared_ptr<const WalkMask>& mask) {
  const torch::Tensor weights = at::matmul(mask->loads().to(in.f.scalar_type()), in.f);
  return GrfAttention(in.q, in.k, in.v, weights, mask, {kFeatureEpsilon, kNormalizerEpsilon});
}

class GrfOpTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { at::manual_seed(7); }

  /// Packed counts, or the same lists as real loads.
  std::shared_ptr<const WalkMask> MaskOf(const KnnGraph& graph) const {
    WalkLists lists = *BuildWalkLists(graph);
    if (GetParam()) return std::make_shared<WalkMask>(std::move(lists), graph.out_degree, true);
    return std::make_shared<WalkMask>(ToWeighted(lists), true);
  }
};

TEST_P(GrfOpTest, EqualsTheDensePowerSeries) {
  for (const Cloud& cloud : {SheetCloud(200, 1), CubeCloud(97, 2), CoincidentCloud(12)}) {
    const KnnGraph graph = GraphOf(cloud);
    const Inputs in = RandomInputs(graph.n, 16, at::kFloat);
    const torch::Tensor expected =
        DenseMasked(in.q.to(at::kDouble), in.k.to(at::kDouble), in.v.to(at::kDouble),
                    PowerSeries(Adjacency(graph), in.f.to(at::kDouble)));
    EXPECT_LT(RelativeL2(MaskedByWalks(in, MaskOf(graph)), expected), kFloatOpTolerance);
  }
}

TEST_P(GrfOpTest, GradientsInQueryKeyValueAndCoefficients) {
  const KnnGraph graph = GraphOf(SheetCloud(24, 3));
  const auto mask = MaskOf(graph);
  const Inputs in = RandomInputs(graph.n, 5, at::kDouble);
  const torch::Tensor probe = at::randn({graph.n, 5}, at::kDouble);
  ExpectGradientsMatch(
      [&](const std::vector<torch::Tensor>& x) {
        return (MaskedByWalks({x[0], x[1], x[2], x[3]}, mask) * probe).sum();
      },
      {in.q, in.k, in.v, in.f}, kDoubleGradientTolerance);
}

TEST_P(GrfOpTest, AllZeroFeaturesGiveTheMaskedMean) {
  const KnnGraph graph = GraphOf(CubeCloud(20, 4));
  Inputs in = RandomInputs(graph.n, 8, at::kFloat);
  in.q = -at::ones_like(in.q);
  in.k = -at::ones_like(in.k);
  const torch::Tensor expected =
      DenseMasked(in.q.to(at::kDouble), in.k.to(at::kDouble), in.v.to(at::kDouble),
                  PowerSeries(Adjacency(graph), in.f.to(at::kDouble)));
  EXPECT_LT(RelativeL2(MaskedByWalks(in, MaskOf(graph)), expected), kFloatOpTolerance);
}

INSTANTIATE_TEST_SUITE_P(Lists, GrfOpTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "packed" : "weighted"; });

TEST(GrfOpShapes, AreChecked) {
  const KnnGraph graph = GraphOf(CubeCloud(10, 5));
  const auto mask = std::make_shared<WalkMask>(*BuildWalkLists(graph), 3, true);
  const Inputs in = RandomInputs(9, 4, at::kFloat);
  EXPECT_THROW(MaskedByWalks(in, mask), c10::Error);
}

TEST(LinearAttentionOp, EqualsTheQuadraticForm) {
  at::manual_seed(8);
  for (const std::int64_t n : {1, 2, 255, 256, 700}) {
    const Inputs in = RandomInputs(n, 32, at::kFloat);
    const torch::Tensor expected =
        DenseLinear(in.q.to(at::kDouble), in.k.to(at::kDouble), in.v.to(at::kDouble), 4);
    const torch::Tensor got =
        LinearAttention(in.q, in.k, in.v, 4, {kFeatureEpsilon, kNormalizerEpsilon});
    EXPECT_LT(RelativeL2(got, expected), kFloatOpTolerance) << n;
  }
}

TEST(LinearAttentionOp, Gradients) {
  at::manual_seed(9);
  const Inputs in = RandomInputs(30, 6, at::kDouble);
  const torch::Tensor probe = at::randn({30, 6}, at::kDouble);
  ExpectGradientsMatch(
      [&](const std::vector<torch::Tensor>& x) {
        return (LinearAttention(x[0], x[1], x[2], 2, {kFeatureEpsilon, kNormalizerEpsilon}) * probe)
            .sum();
      },
      {in.q, in.k, in.v}, kDoubleGradientTolerance);
}

TEST(LinearAttentionOp, SameBitsTwice) {
  at::manual_seed(10);
  const Inputs in = RandomInputs(5000, 64, at::kFloat);
  const LinearAttentionEpsilons epsilons{kFeatureEpsilon, kNormalizerEpsilon};
  EXPECT_TRUE(at::equal(LinearAttention(in.q, in.k, in.v, 4, epsilons),
                        LinearAttention(in.q, in.k, in.v, 4, epsilons)));
}

}  // namespace
}  // namespace interlacer::testing
