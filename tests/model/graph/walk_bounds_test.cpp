#include "model/graph/walk_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.h"
#include "tests/model/graph/graphs.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

WalkLoads Iid(const WeightedGraph& graph, int walks, double halt, int max_hops,
              std::uint64_t seed) {
  WalkSamplerOptions options;
  options.sampler = WalkSampler::kIid;
  options.walk_count = walks;
  options.halt_probability = halt;
  options.max_hops = max_hops;
  options.seed = seed;
  return *SampleWalks(graph, options);
}

double LargestStepLoad(const WeightedGraph& graph, double halt) {
  double largest = 0;
  for (int i = 0; i < graph.n; ++i) {
    const int degree = graph.offsets[i + 1] - graph.offsets[i];
    for (int e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      largest = std::max(largest, graph.weights[e] * degree / (1 - halt));
    }
  }
  return largest;
}

WeightedGraph RandomGraph(int n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Edges edges;
  for (int i = 0; i < n; ++i) {
    edges.emplace_back(i, (i + 1) % n);  // connected
    for (int j = i + 2; j < n; ++j) {
      if (random.Uniform() < 0.2f && (j + 1) % n != i) edges.emplace_back(i, j);
    }
  }
  return UndirectedGraph(n, edges);
}

TEST(ErrorProbabilityBound, IsNeverExceeded) {
  constexpr int kTrials = 3000;
  const std::vector<double> f = {1, 0.3, 0.1};
  const WeightedGraph graphs[] = {RingGraph(20), GridGraph(5, 4), RandomGraph(20, 4)};
  for (const WeightedGraph& graph : graphs) {
    const double c = LoadNorm(f, LargestStepLoad(graph, 0.5));
    const Matrix phi = PowerSeries(graph, f);
    const double exact = Dot(phi[0], phi[1]);
    for (const int walks : {16, 64, 256}) {
      std::vector<double> errors;
      for (int trial = 0; trial < kTrials; ++trial) {
        const Matrix features = Features(Iid(graph, walks, 0.5, 2, trial), f);
        errors.push_back(std::abs(Dot(features[0], features[1]) - exact));
      }
      for (const double t : {0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5}) {
        const double share =
            static_cast<double>(std::count_if(errors.begin(), errors.end(),
                                              [t](double error) { return error > t; })) /
            kTrials;
        EXPECT_LE(share, ErrorProbabilityBound(t, walks, c)) << walks << " walks, error " << t;
      }
    }
  }
}

TEST(ErrorProbabilityBound, IsNotVacuousOnTheRing) {
  const WeightedGraph ring = RingGraph(20);
  const double c = LoadNorm(std::vector<double>{1, 0.3, 0.1}, LargestStepLoad(ring, 0.5));
  EXPECT_NEAR(c, 2, 1e-12);
  EXPECT_NEAR(ErrorProbabilityBound(1.0, 256, c), 0.27, 0.005);
  EXPECT_NEAR(ErrorProbabilityBound(1.5, 256, c), 0.022, 0.0005);
}

TEST(WalksForBound, IsTheFewestWalksThatMeetTheBound) {
  for (const double c : {1.2, 2.0}) {
    for (const double error : {0.2, 1.0}) {
      const int walks = WalksForBound(error, 0.05, c);
      EXPECT_LE(ErrorProbabilityBound(error, walks, c), 0.05);
      EXPECT_GT(ErrorProbabilityBound(error, walks - 1, c), 0.05);
      const double large_n = 8 * std::pow(c, 4) * std::log(2 / 0.05) / (error * error);
      EXPECT_NEAR(walks, large_n, 0.05 * large_n + 2);
    }
  }
}

TEST(WalksForBound, IsTheLargestIntegerWhereNoneSuffices) {
  EXPECT_EQ(WalksForBound(0.1, 0.05, 1e6), std::numeric_limits<int>::max());
  EXPECT_EQ(WalksForBound(0.1, 0.05, 1e300), std::numeric_limits<int>::max());
}

TEST(VisitedNodesBound, HoldsWhereTheUnroundedNumberFails) {
  constexpr int kEnsembles = 100000;
  constexpr int kWalks = 4;
  constexpr double kDelta = 0.05;
  const double bound = VisitedNodesBound(kDelta, kWalks, 0.5);
  EXPECT_EQ(bound, 7);  // the lemma's number is 6.29
  RandomSequence random(8, RandomStream::kWalks);
  int beyond_bound = 0;
  int beyond_floor = 0;
  for (int s = 0; s < kEnsembles; ++s) {
    int longest = 0;
    for (int w = 0; w < kWalks; ++w) {
      int visited = 1;
      while (random.Uniform() >= 0.5f) ++visited;
      longest = std::max(longest, visited);
    }
    beyond_bound += longest > bound;
    beyond_floor += longest > bound - 1;
  }
  EXPECT_LE(beyond_bound, kDelta * kEnsembles);
  EXPECT_GT(beyond_floor, kDelta * kEnsembles);
}

/// For small p the logarithm of 1 - p is -p.
TEST(VisitedNodesBound, GrowsAsOneOverHaltsThatRoundTo0BesideOne) {
  const double half = -std::log(0.5);  // one walk, probability 1/2
  for (const double halts : {1e-9, 1e-17, 1e-300}) {
    EXPECT_NEAR(VisitedNodesBound(0.5, 1, halts) * halts, half, 2e-9) << halts;
  }
  // ln(1e-17 / 4) / ln(1/2) = 58.5
  EXPECT_EQ(VisitedNodesBound(1e-17, 4, 0.5), 59);
  EXPECT_EQ(VisitedNodesBound(0.5, 1, 0), std::numeric_limits<double>::infinity());
}

/// As if halting were one law among others; all that there is where the share never falls so low.
TEST(VisitedNodesBound, IsThatOfAnyLawOfLengths) {
  std::vector<double> halves{1};
  for (int t = 1; t < 40; ++t) halves.push_back(halves.back() / 2);
  for (const int walks : {1, 4, 27}) {
    for (const double probability : {0.3, 0.05, 1e-4}) {
      EXPECT_EQ(VisitedNodesBound(probability, walks, halves),
                VisitedNodesBound(probability, walks, 0.5))
          << walks << " " << probability;
    }
  }
  EXPECT_EQ(VisitedNodesBound(0.05, 4, std::vector<double>{1, 0.5, 0.25}), 3);
  EXPECT_EQ(VisitedNodesBound(0.05, 4, std::vector<double>{1}), 1);
}

TEST(VisitedNodesBound, LimitsTheEntriesOfARow) {
  constexpr int kEnsembles = 400;
  constexpr double kDelta = 0.05;
  const WeightedGraph line = GridGraph(256, 1);
  const double most_entries = 4 * VisitedNodesBound(kDelta, 4, 0.5);
  int rows = 0;
  int rows_beyond = 0;
  for (int s = 0; s < kEnsembles; ++s) {
    const WalkLoads walks = Iid(line, 4, 0.5, 30, s);
    for (int i = 0; i < walks.n; ++i, ++rows) {
      rows_beyond += walks.offsets[i + 1] - walks.offsets[i] > most_entries;
    }
  }
  EXPECT_LE(rows_beyond, kDelta * rows);
}

TEST(WalkSparsity, DoesNotDependOnTheSizeOfTheGraph) {
  const struct {
    int n;
    double mean_entries;
  } cases[] = {{64, 3.08}, {512, 3.14}, {4096, 3.16}};
  for (const auto& c : cases) {
    const WeightedGraph line = GridGraph(c.n, 1);
    double entries = 0;
    const int repeats = 65536 / c.n;
    for (int s = 0; s < repeats; ++s) {
      entries += static_cast<double>(Iid(line, 4, 0.5, 30, s).nodes.size()) / c.n / repeats;
    }
    EXPECT_NEAR(entries, c.mean_entries, kMeanEntriesTolerance) << c.n << " nodes";
  }
}

}  // namespace
}  // namespace interlacer::testing
