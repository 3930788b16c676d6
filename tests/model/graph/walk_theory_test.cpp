#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "common/random.h"
#include "tests/model/graph/graphs.h"
#include "tests/model/graph/sampled_walks.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// Output of masked attention for every node when keys and values depend on its colour only.
std::vector<double> ColoredAttention(const Matrix& mask, const std::vector<int>& colors) {
  const double scores[2][2] = {{0.9, 0.4}, {0.3, 1.1}};
  const double values[2] = {-0.7, 1.3};
  std::vector<double> out(mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i) {
    double numerator = 0;
    double denominator = 0;
    for (std::size_t j = 0; j < mask.size(); ++j) {
      const double a = mask[i][j] * scores[colors[i]][colors[j]];
      numerator += a * values[colors[j]];
      denominator += a;
    }
    out[i] = numerator / denominator;
  }
  return out;
}

/// Largest difference between nodes of one colour in an 8-cycle AABBAABB and in two 4-cycles AABB,
/// which colour refinement cannot tell apart, with `change` applied to the masks.
double Separation(const std::function<double(double)>& change) {
  const WeightedGraph one_cycle = RingGraph(8);
  const WeightedGraph two_cycles =
      UndirectedGraph(8, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}});
  const std::vector<int> colors = {0, 0, 1, 1, 0, 0, 1, 1};
  std::vector<double> outputs[2];
  int g = 0;
  for (const WeightedGraph* graph : {&one_cycle, &two_cycles}) {
    Matrix mask = PowerSeries(*graph, {1, 0.99, 0.98, 0.97});
    for (auto& row : mask) {
      for (double& m : row) m = change(m);
    }
    outputs[g++] = ColoredAttention(mask, colors);
  }
  double largest = 0;
  for (int i = 0; i < 8; ++i) {
    largest = std::max(largest, std::abs(outputs[0][i] - outputs[1][i]));
  }
  return largest;
}

TEST(Expressivity, APowerSeriesMaskDoesNotSeparateWhatColourRefinementCannot) {
  EXPECT_LE(Separation([](double m) { return m; }), kExactLoadTolerance);
}

TEST(Expressivity, ANonLinearMaskDoes) {
  constexpr double kVisible = 0.005;
  EXPECT_GT(Separation([](double m) { return std::exp(m); }), kVisible);
  EXPECT_GT(Separation([](double m) { return m > 0.3 ? 1.0 : 0.01; }), kVisible);
}

std::vector<double> Flatten(const Matrix& a) {
  std::vector<double> flat;
  for (const auto& row : a) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

/// Relative distance of `target` from the span of `basis`, by Gram-Schmidt with a second pass.
double DistanceFromSpan(std::vector<double> target, std::vector<std::vector<double>> basis) {
  const double norm = std::sqrt(Dot(target, target));
  const auto remove = [](std::vector<double>& v, const std::vector<double>& unit) {
    const double along = Dot(v, unit);
    for (std::size_t x = 0; x < v.size(); ++x) v[x] -= along * unit[x];
  };
  for (std::size_t b = 0; b < basis.size(); ++b) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t earlier = 0; earlier < b; ++earlier) remove(basis[b], basis[earlier]);
    }
    const double length = std::sqrt(Dot(basis[b], basis[b]));
    if (length < 1e-12) {  // a linear combination of the others
      basis[b].assign(basis[b].size(), 0);
      continue;
    }
    for (double& x : basis[b]) x /= length;
    remove(target, basis[b]);
  }
  return std::sqrt(Dot(target, target)) / norm;
}

/// How far walks without importance weights stay from the series in W whatever their coefficients:
/// they estimate powers of the transition matrix P = D^-1 A.
double FloorWithoutImportanceWeights(const WeightedGraph& graph) {
  WeightedGraph transition = graph;
  for (int i = 0; i < graph.n; ++i) {
    for (int e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      transition.weights[e] = 1.0 / (graph.offsets[i + 1] - graph.offsets[i]);
    }
  }
  std::vector<std::vector<double>> powers;
  for (std::size_t t = 0; t < kLongHalving.size(); ++t) {
    std::vector<double> only_t(t + 1, 0);
    only_t[t] = 1;
    powers.push_back(Flatten(PowerSeries(transition, only_t)));
  }
  return DistanceFromSpan(Flatten(PowerSeries(graph, kLongHalving)), powers);
}

/// Each new node joins `links` distinct earlier ones, drawn in proportion to their degrees.
WeightedGraph PreferentialAttachment(int n, int links) {
  RandomSequence random(7, RandomStream::kDataGeneration);
  Edges edges;
  std::vector<int> ends;  // a node as often as it has edges
  for (int node = links; node < n; ++node) {
    std::set<int> chosen;
    while (static_cast<int>(chosen.size()) < links) {
      // The first nodes have no edges yet when the first of all joins them.
      chosen.insert(ends.empty() ? static_cast<int>(chosen.size())
                                 : ends[random.Below(static_cast<std::uint32_t>(ends.size()))]);
    }
    for (const int other : chosen) {
      edges.emplace_back(node, other);
      ends.push_back(node);
      ends.push_back(other);
    }
  }
  return UndirectedGraph(n, edges);
}

TEST(ImportanceWeights, AreNeededWhereDegreesVary) {
  EXPECT_NEAR(FloorWithoutImportanceWeights(GridGraph(8, 8)), 0.031,
              kReferenceFloorTolerance * 0.031);
  Edges star;
  for (int leaf = 1; leaf <= 50; ++leaf) star.emplace_back(0, leaf);
  const double star_floor = FloorWithoutImportanceWeights(UndirectedGraph(51, star));
  EXPECT_NEAR(star_floor, 0.09, kReferenceFloorTolerance * 0.09);
  EXPECT_NEAR(FloorWithoutImportanceWeights(PreferentialAttachment(200, 3)), 0.09,
              kReferenceFloorTolerance * 0.09);
}

TEST(ImportanceWeights, AreNotNeededOnARegularGraph) {
  EXPECT_LE(FloorWithoutImportanceWeights(RingGraph(30)), kDoubleOpTolerance);
}

}  // namespace
}  // namespace interlacer::testing
