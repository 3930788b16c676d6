// Theory of masks that are power series of a graph, and of closed forms.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "model/attention/masks/basic_masks.h"
#include "model/attention/masks/heat.h"
#include "model/attention/masks/power_series.h"
#include "model/attention/masks/toeplitz.h"
#include "model/attention/masks/tree.h"
#include "model/attention/masks/walk_features.h"
#include "tests/model/attention/catalog/reference.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Graph;

AttentionInputs GraphOnly(std::int64_t n, const EdgeList& edges) {
  AttentionInputs inputs;
  inputs.q = at::zeros({1, 1, n, 1}, at::kDouble);
  inputs.graph = UndirectedInput(n, edges);
  return inputs;
}

double Binomial(double n, int k) {
  double value = 1;
  for (int i = 0; i < k; ++i) value *= (n - i) / (i + 1);
  return value;
}

/// Coefficients f of the kernels whose f have a closed form.
TEST(Deconvolution, HasTheClosedFormsOfNamedKernels) {
  constexpr double kBeta = 0.7;
  constexpr int kCount = 20, kSteps = 6;
  std::vector<double> diffusion, squared, resolvent, steps;
  for (int k = 0; k < kCount; ++k) {
    diffusion.push_back(std::pow(kBeta, k) / std::tgamma(k + 1));
    squared.push_back((k + 1) * std::pow(kBeta, k));
    resolvent.push_back(std::pow(kBeta, k));
    steps.push_back(Binomial(kSteps, k) * std::pow(kBeta, k));
  }
  const auto f_of = [](const std::vector<double>& alpha) {
    return attention::Deconvolved(alpha).value();
  };
  const auto of_diffusion = f_of(diffusion), of_squared = f_of(squared),
             of_resolvent = f_of(resolvent), of_steps = f_of(steps);
  for (int k = 0; k < kCount; ++k) {
    EXPECT_NEAR(of_diffusion[k], std::pow(kBeta / 2, k) / std::tgamma(k + 1), kDoubleSumTolerance);
    EXPECT_NEAR(of_squared[k], std::pow(kBeta, k), kDoubleSumTolerance);
    EXPECT_NEAR(of_resolvent[k], std::pow(kBeta, k) * Binomial(2 * k, k) / std::pow(4.0, k),
                kDoubleSumTolerance);
    EXPECT_NEAR(of_steps[k], Binomial(kSteps / 2, k) * std::pow(kBeta, k), kDoubleSumTolerance);
  }
  EXPECT_EQ(attention::Deconvolved(std::vector<double>{0, 1}).status().field(), "alpha[0]");
  EXPECT_FALSE(attention::Deconvolved({}).ok());
}

/// alpha of Phi Phi^T: f convolved with itself, of twice the degree.
std::vector<double> SelfConvolved(const std::vector<double>& f) {
  std::vector<double> alpha(2 * f.size() - 1, 0);
  for (std::size_t p = 0; p < f.size(); ++p) {
    for (std::size_t q = 0; q < f.size(); ++q) alpha[p + q] += f[p] * f[q];
  }
  return alpha;
}

/// The symmetric form Phi Phi^T and the asymmetric form, whose row is the query's feature, are
/// one mask in the limit of many walks.
TEST(MaskForms, SymmetricAndAsymmetricAreOneSeries) {
  const AttentionInputs inputs = GraphOnly(64, RandomEdges(64, 0.08, 4));
  const Graph graph = attention::MaskGraphOf(inputs);
  const std::vector<double> f{1, 0.5, 0.25, 0.125};
  const std::vector<double> alpha = SelfConvolved(f);
  const auto row = [](const std::vector<double>& c) {
    return at::tensor(c, at::kDouble).reshape({1, -1});
  };
  const torch::Tensor symmetric = attention::MakeSquaredSeriesMask(graph, row(f))->Dense();
  const torch::Tensor series = attention::MakePowerSeriesMask(graph, row(alpha))->Dense();
  EXPECT_LT(RelativeL2(symmetric, series), kDoubleOpTolerance);
  const auto hops = static_cast<int>(alpha.size()) - 1;
  const auto features = attention::Combined(attention::EnumeratedTerms(graph, hops), row(alpha));
  EXPECT_LT(RelativeL2(attention::ToDense(*features.pattern, features.values), series),
            kDoubleOpTolerance);
}

/// Relative distance of Phi = sum of f_t W^t, f_t = 1 / 2^t, from all series of the mean visits of
/// walks on `walks`, whatever their coefficients.
double DistanceFromWalks(const Graph& graph, const Graph& walks) {
  constexpr int kHops = 7;
  const auto loads_of = [](const Graph& of) {
    const attention::WalkTerms terms = attention::EnumeratedTerms(of, kHops);
    return attention::ToDense(*terms.pattern, terms.loads[0].transpose(0, 1)).flatten(1);
  };
  const torch::Tensor halves = at::pow(0.5, at::arange(kHops + 1, at::kDouble));
  const torch::Tensor phi = at::mv(loads_of(graph).transpose(0, 1), halves);
  const torch::Tensor basis = std::get<0>(at::linalg_qr(loads_of(walks).transpose(0, 1)));
  const torch::Tensor rest = phi - at::mv(basis, at::mv(basis.transpose(0, 1), phi));
  return (rest.norm() / phi.norm()).item<double>();
}

/// Where degrees vary walks that count visits alone have a floor, and those with importance weights
/// have none.
TEST(MaskForms, AdHocWalksKeepAwayFromTheSeries) {
  constexpr double kGridFloor = 0.031;
  const AttentionInputs inputs = GraphOnly(64, GridEdges({8, 8}));
  const Graph graph = attention::MaskGraphOf(inputs);
  const Graph ad_hoc =
      attention::WithoutImportanceWeights(attention::AdjacencyOf(inputs), /*halt_probability=*/0);
  EXPECT_NEAR(DistanceFromWalks(graph, ad_hoc), kGridFloor, kReferenceFloorTolerance * kGridFloor);
  EXPECT_LT(DistanceFromWalks(graph, graph), kDoubleOpTolerance);
}

/// The mask is positive definite if and only if sum of alpha_k lambda^k > 0 for all eigenvalues of
/// W.
TEST(MaskForms, AreDefiniteAsTheirSeriesIsPositive) {
  const AttentionInputs inputs = GraphOnly(24, GridEdges({4, 6}));
  const Graph graph = attention::MaskGraphOf(inputs);
  const torch::Tensor eigenvalues = std::get<0>(at::linalg_eigh(attention::DenseOf(graph)));
  int positive = 0, other = 0;
  for (const double second : {0.2, 0.9, 1.5, -0.5, -1.2}) {
    const torch::Tensor alpha = at::tensor({1.0, second, 0.1}, at::kDouble).reshape({1, -1});
    const torch::Tensor expected = 1 + second * eigenvalues + 0.1 * eigenvalues * eigenvalues;
    const torch::Tensor mask = attention::MakePowerSeriesMask(graph, alpha)->Dense()[0];
    const double least = std::get<0>(at::linalg_eigh(mask)).min().item<double>();
    EXPECT_NEAR(least, expected.min().item<double>(), kDoubleOpTolerance);
    ++(least > 0 ? positive : other);
  }
  EXPECT_GT(positive, 0);
  EXPECT_GT(other, 0);
}

/// exp(-lambda (Deg - Adj) Deg^-1) is the mean of (Adj Deg^-1)^i over i of Poisson(lambda).
TEST(DiffusionMask, IsAPoissonNumberOfHops) {
  constexpr double kTime = 1.3;
  const AttentionInputs inputs = GraphOnly(15, RandomEdges(16, 0.3, 8));
  const Graph adjacency = attention::AdjacencyOf(inputs);
  const torch::Tensor mask =
      attention::MakeHeatMask(adjacency, "normalised", at::tensor({kTime}, at::kDouble))
          ->Dense()[0];
  const torch::Tensor degrees = attention::DegreesOf(adjacency);
  ASSERT_GT(degrees.min().item<double>(), 0);
  const torch::Tensor hops = attention::DenseOf(adjacency) / degrees.unsqueeze(0);
  torch::Tensor power = at::eye(15, at::kDouble), sum = at::zeros_like(power);
  double weight = std::exp(-kTime);
  for (int i = 0; i < 60; ++i) {
    sum = sum + weight * power;
    power = at::matmul(power, hops);
    weight *= kTime / (i + 1);
  }
  EXPECT_LT(RelativeL2(mask, sum), kDoubleOpTolerance);
}

/// Terms that Chebyshev polynomials take on a 16 x 16 grid, and their error.
TEST(DiffusionMask, TakesFewTermsAndStaysExact) {
  const AttentionInputs inputs = GraphOnly(256, GridEdges({16, 16}));
  const Graph adjacency = attention::AdjacencyOf(inputs);
  const double times[] = {0.1, 1, 10, 100};
  const std::size_t reference_terms[] = {8, 17, 43, 131};
  for (int i = 0; i < 4; ++i) {
    // The largest degree is 4: eigenvalues within 8.
    const auto numbers = attention::ScaledBesselNumbers(times[i] * 4, 1e-10);
    EXPECT_NEAR(static_cast<double>(numbers.size()), static_cast<double>(reference_terms[i]), 3);
    for (const auto method : {attention::HeatMethod::kChebyshev, attention::HeatMethod::kTaylor}) {
      const auto mask = attention::MakeHeatMask(adjacency, "laplacian",
                                                at::tensor({times[i]}, at::kDouble), method);
      const torch::Tensor unit = at::eye(256, at::kDouble).unsqueeze(0);
      EXPECT_LT((mask->Product(unit) - mask->Dense()).abs().max().item<double>(), 2e-11);
    }
  }
}

/// Entries far from a token, and those of exp(lambda Adj) where the largest degree says nothing of
/// its eigenvalues, against sums in plain loops of terms that are all positive.
TEST(DiffusionMask, HasTheDigitsOfSmallEntries) {
  constexpr double kTime = 1.7;
  constexpr std::size_t kTokens = 24;
  EdgeList path = RingEdges(kTokens), star;
  path.pop_back();
  for (std::size_t leaf = 1; leaf < kTokens; ++leaf) star.emplace_back(0, leaf);
  for (const auto& [edges, name] : std::initializer_list<std::pair<EdgeList, const char*>>{
           {path, "laplacian"}, {path, "neg_adjacency"}, {star, "neg_adjacency"}}) {
    const AttentionInputs inputs = GraphOnly(kTokens, edges);
    const Matrix adjacency = Adjacency(inputs);
    // exp(-t (Deg - Adj)) = e^-2t exp(t (2 - Deg + Adj)) on a path.
    const bool is_laplacian = std::string_view(name) == "laplacian";
    Matrix positive = adjacency;
    for (std::size_t i = 0; i < kTokens && is_laplacian; ++i) {
      positive(i, i) = i == 0 || i + 1 == kTokens ? 1 : 0;
    }
    Matrix term = Scaled(Identity(kTokens), is_laplacian ? std::exp(-2 * kTime) : 1), sum = term;
    for (int k = 1; k < 150; ++k) {
      term = Scaled(Times(term, positive), kTime / k);
      sum = Sum(sum, term);
    }
    const Graph graph = attention::AdjacencyOf(inputs);
    const auto mask = attention::MakeHeatMask(graph, name, at::tensor({kTime}, at::kDouble));
    const torch::Tensor unit = at::eye(kTokens, at::kDouble).unsqueeze(0);
    for (const torch::Tensor& entries : {mask->Dense()[0], mask->Product(unit)[0]}) {
      int small_count = 0;
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (std::size_t j = 0; j < kTokens; ++j) {
          const double entry =
              entries[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)].item<double>();
          EXPECT_NEAR(entry, sum(i, j), kDoubleOpTolerance * sum(i, j)) << name << i << " " << j;
          if (sum(i, j) < 1e-15) ++small_count;
        }
      }
      EXPECT_EQ(small_count > 0, edges == path) << name;
    }
  }
}

/// What no walk reaches in so many terms has no rounding for a weight.
TEST(DiffusionMask, IsZeroBelowItsRounding) {
  constexpr std::int64_t kPath = 200;
  const torch::Tensor unit = at::eye(kPath, at::kDouble).unsqueeze(0);
  const torch::Tensor time = at::ones({1}, at::kDouble);
  for (const bool is_torus : {false, true}) {
    const auto mask = attention::MakeGridHeatMask({kPath}, time, is_torus);
    const torch::Tensor entries = mask->Product(unit)[0];
    EXPECT_EQ(entries[0][kPath / 2].item<double>(), 0);
    EXPECT_GE(entries.min().item<double>(), 0);
    EXPECT_LT((entries - mask->Dense()[0]).abs().max().item<double>(), 1e-14);
  }
  EdgeList edges = RingEdges(kPath);
  edges.pop_back();
  const Graph path =
      attention::SymmetricallyNormalised(attention::AdjacencyOf(GraphOnly(kPath, edges)));
  const auto kernel = attention::MakeNamedKernelMask(path, "diffusion", 1, 1);
  for (const torch::Tensor& entries : {kernel->Dense()[0], kernel->Product(unit)[0]}) {
    EXPECT_EQ(entries[0][kPath / 2].item<double>(), 0);
    EXPECT_GE(entries.min().item<double>(), 0);
  }
}

/// The closed form with tanh holds on hypercubes alone: on a 4 x 4 grid it is off by up to 0.56 of
/// the diagonal.
TEST(DiffusionMask, HasNoTanhFormOnGrids) {
  double worst = 0;
  for (double time = 0.05; time < 4; time *= 1.2) {
    const torch::Tensor lambda = at::tensor({time}, at::kDouble);
    const torch::Tensor exact = attention::MakeGridHeatMask({4, 4}, lambda, false)->Dense()[0];
    double largest = 0;
    for (std::int64_t i = 0; i < 16; ++i) {
      for (std::int64_t j = 0; j < 16; ++j) {
        const auto apart = std::abs(i / 4 - j / 4) + std::abs(i % 4 - j % 4);
        const double form = std::pow(std::tanh(time), static_cast<double>(apart));
        const double ratio = exact[i][j].item<double>() /
                             std::sqrt(exact[i][i].item<double>() * exact[j][j].item<double>());
        largest = std::max(largest, std::abs(form - ratio));
      }
    }
    worst = std::max(worst, largest);
  }
  EXPECT_GT(worst, 0.2);
  const torch::Tensor lambda = at::tensor({0.4}, at::kDouble);
  EXPECT_LT(RelativeL2(attention::MakeHypercubeHeatMask(4, lambda)->Dense(),
                       attention::MakeGridHeatMask({2, 2, 2, 2}, lambda, false)->Dense()),
            kDoubleOpTolerance);
}

/// Theorem 4.2 of the GKAT paper, with alpha = 0: sums over walks lie between those of the
/// resolvent squared at rho / d_max and rho / d_min.
TEST(FrequencyKernel, LiesBetweenItsBounds) {
  constexpr double kRho = 0.25;
  constexpr int kHops = 60;
  const AttentionInputs inputs = GraphOnly(12, GridEdges({3, 4}));
  const Graph hops = attention::RowNormalised(attention::AdjacencyOf(inputs));
  std::vector<double> powers;
  for (int e = 0; e <= kHops; ++e) powers.push_back(std::pow(kRho, e));
  const auto psi = attention::Combined(attention::EnumeratedTerms(hops, kHops),
                                       at::tensor(powers, at::kDouble).reshape({1, -1}));
  const torch::Tensor features = attention::ToDense(*psi.pattern, psi.values)[0];
  const torch::Tensor mask = at::matmul(features, features.transpose(0, 1));
  const Matrix adjacency = Adjacency(inputs);
  const auto bound = [&](double degree) {
    const Matrix inverse = Inverse(Sum(Identity(12), adjacency, -kRho / degree));
    return Times(inverse, inverse);
  };
  const Matrix low = bound(4), high = bound(2);
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      const double entry =
          mask[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)].item<double>();
      EXPECT_LE(low(i, j), entry * (1 + 1e-12));
      EXPECT_LE(entry, high(i, j) * (1 + 1e-12));
    }
  }
}

/// M (a x + b y) = a M x + b M y, and the gradient of <M x, y> to x is M^T y.
void ExpectLinearAndAdjoint(const attention::Mask& mask, std::int64_t n, const char* text) {
  const torch::Tensor x = Normals({1, n, 3}, 31).requires_grad_(), y = Normals({1, n, 3}, 32);
  const torch::Tensor product = mask.Product(x);
  EXPECT_LT(RelativeL2(mask.Product(0.7 * x - 1.9 * y), 0.7 * product - 1.9 * mask.Product(y)),
            kDoubleOpTolerance)
      << text;
  const torch::Tensor inner = (product * y).sum();
  const torch::Tensor gradient = torch::autograd::grad({inner}, {x})[0];
  EXPECT_LT(RelativeL2(gradient, at::matmul(mask.Dense().transpose(1, 2), y)), kDoubleOpTolerance)
      << text;
  const double scale = x.norm().item<double>() * gradient.norm().item<double>();
  EXPECT_LT(std::abs((x * gradient).sum().item<double>() - inner.item<double>()),
            kDoubleOpTolerance * scale)
      << text;
}

TEST(Products, AreLinearAndTheirGradientsThoseOfTheTranspose) {
  const auto row = [](const std::vector<double>& c) {
    return at::tensor(c, at::kDouble).reshape({1, -1});
  };
  AttentionInputs inputs = GraphOnly(60, RandomEdges(60, 0.1, 4));
  // Other weights one way than the other: the matrix is not its transpose.
  inputs.graph.weights = Normals(inputs.graph.neighbors.sizes(), 33).abs();
  const Graph graph = attention::AdjacencyOf(inputs);
  ExpectLinearAndAdjoint(*attention::MakePairMask(graph.AsPairs()), 60, "pairs");
  ExpectLinearAndAdjoint(*attention::MakePowerSeriesMask(graph, row({1, 0.2, 0.1})), 60, "series");
  const auto undirected = attention::AdjacencyOf(GraphOnly(60, RandomEdges(60, 0.1, 4)));
  for (const char* name : {"laplacian", "normalised", "neg_adjacency", "heat"}) {
    ExpectLinearAndAdjoint(*attention::MakeHeatMask(undirected, name, row({0.8})[0]), 60, name);
  }
  ExpectLinearAndAdjoint(*attention::MakeGridHeatMask({6, 10}, row({0.8})[0], false), 60, "grid");
  ExpectLinearAndAdjoint(*attention::MakeHypercubeHeatMask(6, row({0.8})[0]), 64, "hypercube");
  ExpectLinearAndAdjoint(*attention::MakeToeplitzMask({6, 10}, Normals({1, 11 * 19}, 34)), 60,
                         "toeplitz");
  inputs.tree = RandomForest(60, 3);
  const auto forest = attention::ForestOf(inputs);
  const torch::Tensor f =
      1 / (1 + at::arange(attention::DiameterOf(forest) + 1, at::kDouble).unsqueeze(0));
  for (const auto algorithm :
       {attention::TreeAlgorithm::kCentroid, attention::TreeAlgorithm::kDiameter}) {
    ExpectLinearAndAdjoint(*attention::MakeTreeMask(forest, f, algorithm), 60, "tree");
  }
  ExpectLinearAndAdjoint(*attention::MakeAffineTreeMask(forest, row({-0.3})[0], row({0.2})[0]), 60,
                         "affine tree");
}

/// Transforms of long paths round; what no key has a weight for is zero all the same.
TEST(TreeMasks, OfRowsWithoutWeightAreZero) {
  constexpr std::int64_t kPath = 300, kFirst = 20;
  AttentionInputs inputs;
  inputs.q = at::zeros({1, 1, kPath, 1}, at::kDouble);
  inputs.tree = PathTree(kPath);
  const auto forest = attention::ForestOf(inputs);
  torch::Tensor f = at::zeros({1, kPath}, at::kDouble);
  f.slice(1, 0, 3).fill_(1);
  torch::Tensor x = Normals({1, kPath, 2}, 6).abs();
  x.slice(1, kFirst).zero_();
  for (const auto algorithm :
       {attention::TreeAlgorithm::kCentroid, attention::TreeAlgorithm::kDiameter}) {
    const auto mask = attention::MakeTreeMask(forest, f, algorithm);
    const torch::Tensor product = mask->Product(x);
    EXPECT_EQ(product.slice(1, kFirst + 2).abs().max().item<double>(), 0);
    EXPECT_LT(RelativeL2(product, at::matmul(mask->Dense(), x)), kDoubleOpTolerance);
    EXPECT_GT(product.slice(1, 0, kFirst + 2).min().item<double>(), 0);
  }
}

/// Both algorithms and the affine form against the dense mask.
TEST(TreeMasks, AlgorithmsAgreeOnLargeTrees) {
  for (const auto& tree :
       {PathTree(700), StarTree(300), CaterpillarTree(400), RandomForest(600, 3)}) {
    AttentionInputs inputs;
    inputs.q = at::zeros({1, 1, tree.parents.size(0), 1}, at::kDouble);
    inputs.tree = tree;
    const auto forest = attention::ForestOf(inputs);
    const torch::Tensor f =
        1 / (1 + at::arange(attention::DiameterOf(forest) + 1, at::kDouble).unsqueeze(0));
    const torch::Tensor x = Normals({1, forest.size(), 3}, 6);
    const auto centroid = attention::MakeTreeMask(forest, f, attention::TreeAlgorithm::kCentroid);
    const auto diameter = attention::MakeTreeMask(forest, f, attention::TreeAlgorithm::kDiameter);
    const torch::Tensor dense = at::matmul(centroid->Dense(), x);
    EXPECT_LT(RelativeL2(centroid->Product(x), dense), kDoubleOpTolerance);
    EXPECT_LT(RelativeL2(diameter->Product(x), dense), kDoubleOpTolerance);
    const auto affine = attention::MakeAffineTreeMask(forest, at::tensor({-0.3}, at::kDouble),
                                                      at::tensor({0.2}, at::kDouble));
    EXPECT_LT(RelativeL2(affine->Product(x), at::matmul(affine->Dense(), x)), kDoubleOpTolerance);
    // Entries that grow with distance: sums that are never taken back do not cancel.
    const auto growing = attention::MakeAffineTreeMask(forest, at::tensor({0.5}, at::kDouble),
                                                       at::tensor({0.0}, at::kDouble));
    EXPECT_LT(RelativeL2(growing->Product(x.abs()), at::matmul(growing->Dense(), x.abs())),
              kDoubleOpTolerance);
  }
}

/// gkat, Lemma 6.2 and Cor. 6.4: histograms win below a diameter of log2(L)^2, centroids above.
TEST(TreeMasks, DeepTreesAreCutAndFlatOnesCounted) {
  const auto chosen = [](const attention::TreeInput& tree) {
    AttentionInputs inputs;
    inputs.q = at::zeros({1, 1, tree.parents.size(0), 1}, at::kDouble);
    inputs.tree = tree;
    return attention::ChooseTreeAlgorithm(attention::ForestOf(inputs));
  };
  EXPECT_EQ(chosen(PathTree(4096)), attention::TreeAlgorithm::kCentroid);
  EXPECT_EQ(chosen(StarTree(4096)), attention::TreeAlgorithm::kDiameter);
  EXPECT_EQ(chosen(PathTree(144)), attention::TreeAlgorithm::kCentroid);
  EXPECT_EQ(chosen(PathTree(4)), attention::TreeAlgorithm::kDiameter);
}

}  // namespace
}  // namespace interlacer::testing
