// How costs grow with the number of tokens, in processor time of fixed inputs: loose bounds that
// tell L from L^2.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>

#include "model/attention/catalog/catalog.h"
#include "model/attention/masks/tree.h"
#include "tests/model/attention/catalog/scenes.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::TreeAlgorithm;
using attention::Way;

constexpr std::int64_t kShort = 2048, kLong = 16384;
/// L log^2 L has 1.3 here, and L^2 has 2.
constexpr double kNearlyLinear = 1.6;

/// The least of some, since other work only adds.
double ProcessorSeconds(const std::function<void()>& work) {
  double least = 1e30;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::clock_t start = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return std::max(least, 1e-5);
}

double Exponent(double at_short, double at_long, std::int64_t ratio) {
  return std::log(at_long / at_short) / std::log(static_cast<double>(ratio));
}

attention::TreeInput BinaryTree(std::int64_t n) {
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < n; ++i) parents.push_back(i == 0 ? -1 : (i - 1) / 2);
  return {at::tensor(parents, at::kLong), at::ones({n}, at::kDouble)};
}

AttentionInputs InputsOf(std::int64_t n) {
  AttentionInputs inputs;
  inputs.q = Normals({1, 1, n, 4}, 1);
  inputs.k = Normals({1, 1, n, 4}, 2);
  inputs.v = Normals({1, 1, n, 4}, 3);
  inputs.grid = {64, n / 64};
  inputs.positions = Normals({n, 3}, 4);
  inputs.tree = RandomForest(n, 5);
  EdgeList edges = RingEdges(n);
  for (std::int64_t i = 0; i < n; i += 4) edges.emplace_back(i, (i * 7919 + 13) % n);
  inputs.graph = UndirectedInput(n, edges);
  return inputs;
}

TEST(Costs, OfFastWaysAreNearlyLinear) {
  const auto exponent = [](const char* name, Way way, std::int64_t from, std::int64_t to) {
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), nlohmann::json::object()).value();
    const auto seconds = [&](std::int64_t n) {
      const AttentionInputs inputs = InputsOf(n);
      return ProcessorSeconds([&] { ASSERT_TRUE(made.Run(inputs, way).ok()); });
    };
    return Exponent(seconds(from), seconds(to), to / from);
  };
  for (const auto& [name, way] :
       std::initializer_list<std::pair<const char*, Way>>{{"linear_relu", Way::kFeatures},
                                                          {"toeplitz_nd", Way::kFastmult},
                                                          {"gdk_grid", Way::kFastmult},
                                                          {"gdk", Way::kFastmult},
                                                          {"tree_affine", Way::kFastmult},
                                                          {"grf_sym", Way::kFastmult},
                                                          {"grf_asym", Way::kPairs},
                                                          {"rwgnk", Way::kFastmult},
                                                          {"flt_gauss3d", Way::kFeatures}}) {
    EXPECT_LT(exponent(name, way, kShort, kLong), kNearlyLinear) << name;
  }
  EXPECT_GT(exponent("softmax", Way::kDense, 512, 4096), kNearlyLinear);
}

double TreeSeconds(const attention::TreeInput& tree, TreeAlgorithm algorithm, bool is_affine) {
  AttentionInputs inputs;
  const std::int64_t n = tree.parents.size(0);
  inputs.q = at::zeros({1, 1, n, 1}, at::kDouble);
  inputs.tree = tree;
  const auto forest = attention::ForestOf(inputs);
  const torch::Tensor x = Normals({1, n, 4}, 6);
  const torch::Tensor f =
      1 / (1 + at::arange(attention::DiameterOf(forest) + 1, at::kDouble).unsqueeze(0));
  const torch::Tensor slope = at::full({1}, -0.1, at::kDouble), offset = at::zeros_like(slope);
  const auto mask = is_affine ? attention::MakeAffineTreeMask(forest, slope, offset)
                              : attention::MakeTreeMask(forest, f, algorithm);
  return ProcessorSeconds([&] { mask->Product(x); });
}

/// gkat, Lemma 3.5 and 6.1: any tree, the deepest and the flattest.
TEST(Costs, OfTreesDoNotDependOnTheirShape) {
  using MakeTree = attention::TreeInput (*)(std::int64_t);
  const MakeTree random = [](std::int64_t n) { return RandomForest(n, 5); };
  for (const MakeTree make :
       {MakeTree{&PathTree}, MakeTree{&StarTree}, MakeTree{&BinaryTree}, random}) {
    for (const bool is_affine : {true, false}) {
      const auto seconds = [&](std::int64_t n) {
        return TreeSeconds(make(n), TreeAlgorithm::kCentroid, is_affine);
      };
      EXPECT_LT(Exponent(seconds(kShort), seconds(kLong), kLong / kShort), kNearlyLinear)
          << make(5).parents << is_affine;
    }
  }
}

/// gkat, Lemma 6.2 and Cor. 6.4: histograms win below a diameter of log2(L)^2, centroids above.
TEST(Costs, OfTreeAlgorithmsCross) {
  constexpr std::int64_t kTokens = 4096;
  const auto of = [](const attention::TreeInput& tree, TreeAlgorithm algorithm) {
    return TreeSeconds(tree, algorithm, false);
  };
  const auto chosen = [](const attention::TreeInput& tree) {
    AttentionInputs inputs;
    inputs.q = at::zeros({1, 1, tree.parents.size(0), 1}, at::kDouble);
    inputs.tree = tree;
    return attention::ChooseTreeAlgorithm(attention::ForestOf(inputs));
  };
  const auto path = PathTree(kTokens), star = StarTree(kTokens);
  EXPECT_GT(of(path, TreeAlgorithm::kDiameter), 2 * of(path, TreeAlgorithm::kCentroid));
  EXPECT_LT(of(star, TreeAlgorithm::kDiameter), of(star, TreeAlgorithm::kCentroid));
  EXPECT_EQ(chosen(path), TreeAlgorithm::kCentroid);
  EXPECT_EQ(chosen(star), TreeAlgorithm::kDiameter);
}

}  // namespace
}  // namespace interlacer::testing
