/// How far sampled walks are from all walks: nothing for repelling walks of the right count, as the
/// reference table says for the others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "knn/walk_lists.h"
#include "tests/model/graph/enumerated_walks.h"
#include "tests/model/graph/graphs.h"
#include "tests/model/graph/sampled_walks.h"
#include "tests/support/brute_force.h"
#include "tests/support/tolerances.h"
#include "tests/support/weighted_lists.h"

namespace interlacer::testing {
namespace {

/// Mean and largest relative error of 200 rows against the enumeration.
struct RowErrors {
  double mean = 0;
  double largest = 0;
};
RowErrors ErrorsOf(const WalkLoads& walks, const WalkLoads& exact, const std::vector<double>& f) {
  RowErrors errors;
  const int step = static_cast<int>(exact.n / 200);
  for (int r = 0; r < 200; ++r) {
    const int i = r * step;
    double squared_error = 0;
    double squared_norm = 0;
    int s = walks.offsets[i];
    for (int e = exact.offsets[i]; e < exact.offsets[i + 1]; ++e) {
      double wanted = 0;
      double got = 0;
      const bool found = s < walks.offsets[i + 1] && walks.nodes[s] == exact.nodes[e];
      for (int t = 0; t < 4; ++t) {
        wanted += f[t] * exact.loads[4 * e + t];
        if (found) got += f[t] * walks.loads[4 * s + t];
      }
      s += found;
      squared_error += (got - wanted) * (got - wanted);
      squared_norm += wanted * wanted;
    }
    EXPECT_EQ(s, walks.offsets[i + 1]) << "a sampled node is not within three hops";
    const double error = std::sqrt(squared_error / squared_norm);
    errors.mean += error / 200;
    errors.largest = std::max(errors.largest, error);
  }
  return errors;
}

TEST(RepellingWalks, AreExactWhenEveryGroupIsAMultipleOfThree) {
  const WeightedGraph graph = NeighborGraph(8192, EdgeWeight::kUniform, 11);
  const WalkLoads exact = EnumerateWalks(graph, 3);
  for (const int walks : {27, 54, 81}) {
    for (const WalkSampler sampler : {WalkSampler::kRepelling, WalkSampler::kRepellingPerPrefix}) {
      const RowErrors errors = ErrorsOf(Sampled(graph, sampler, walks, 0, 7), exact, kHalving);
      EXPECT_LE(errors.largest, kExactLoadTolerance) << walks << " walks";
    }
  }
}

TEST(RepellingWalks, AreExactInFloatLists) {
  const std::vector<float> cloud = CubeCloud(2048, 12);
  const KnnGraph graph = BruteForceGraph(cloud, 3);
  const SparseGraph edges = *ToSparse(graph);
  const WeightedGraph weighted =
      *ToWeightedGraph(edges, *EdgeWeights(edges, EdgeWeight::kUniform, {}));
  const WeightedWalkLists sampled =
      *ToWalkLists(Sampled(weighted, WalkSampler::kRepelling, 27, 0, 7));
  const WeightedWalkLists exact = ToWeighted(*BuildWalkLists(graph));
  ASSERT_EQ(sampled.offsets, exact.offsets);
  ASSERT_EQ(sampled.nodes, exact.nodes);
  for (std::size_t x = 0; x < exact.loads.size(); ++x) {
    ASSERT_NEAR(sampled.loads[x], exact.loads[x], kExactFloatLoadTolerance);
  }
}

TEST(RepellingWalks, AreNotExactForOtherCounts) {
  constexpr double kVisibleError = 0.01;
  const WeightedGraph graph = NeighborGraph(2048, EdgeWeight::kUniform, 11);
  const WalkLoads exact = EnumerateWalks(graph, 3);
  const std::vector<double> slow_decay = {1, 0.99, 0.98, 0.97};
  for (const int walks : {9, 26, 28}) {
    const WalkLoads sampled = Sampled(graph, WalkSampler::kRepelling, walks, 0, 7);
    EXPECT_GT(ErrorsOf(sampled, exact, slow_decay).mean, kVisibleError) << walks << " walks";
  }
}

TEST(RepellingWalks, PerPrefixAreExactForAnyWeights) {
  for (const EdgeWeight weighting : {EdgeWeight::kExpDistance, EdgeWeight::kInverseSqrtDegree}) {
    const WeightedGraph graph = NeighborGraph(2048, weighting, 13);
    const WalkLoads exact = EnumerateWalks(graph, 3);
    const WalkLoads sampled = Sampled(graph, WalkSampler::kRepellingPerPrefix, 27, 0, 7);
    EXPECT_LE(ErrorsOf(sampled, exact, kHalving).largest, kExactLoadTolerance);
    const WalkLoads by_node = Sampled(graph, WalkSampler::kRepelling, 27, 0, 7);
    EXPECT_GT(ErrorsOf(by_node, exact, kHalving).largest, kExactLoadTolerance);
  }
}

TEST(WalkSampler, ErrorsFollowTheReferenceTable) {
  constexpr int kRepeats = 60;
  struct Row {
    double halt;
    WalkSampler sampler;
    double error[3];  // 4, 16 and 64 walks
  };
  const Row rows[] = {{0.1, WalkSampler::kIid, {0.251, 0.124, 0.062}},
                      {0.1, WalkSampler::kAntithetic, {0.249, 0.124, 0.062}},
                      {0.1, WalkSampler::kRepelling, {0.155, 0.050, 0.018}},
                      {0.5, WalkSampler::kIid, {0.442, 0.222, 0.112}},
                      {0.5, WalkSampler::kAntithetic, {0.415, 0.206, 0.104}},
                      {0.5, WalkSampler::kRepelling, {0.388, 0.170, 0.072}}};
  const int walk_counts[3] = {4, 16, 64};
  const WeightedGraph graph = GridGraph(6, 6);
  const Matrix exact = PowerSeries(graph, kLongHalving);
  double measured[6][3];
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 3; ++c) {
      measured[r][c] = 0;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const WalkLoads walks =
            Sampled(graph, rows[r].sampler, walk_counts[c], rows[r].halt, repeat, 7);
        measured[r][c] += RelativeError(Features(walks, kLongHalving), exact) / kRepeats;
      }
      EXPECT_NEAR(measured[r][c], rows[r].error[c], kSamplerErrorTolerance * rows[r].error[c])
          << "row " << r << ", " << walk_counts[c] << " walks";
    }
  }
  for (int c = 0; c < 3; ++c) {
    for (const int iid : {0, 3}) {
      EXPECT_LE(measured[iid + 1][c], 1.02 * measured[iid][c]);
      EXPECT_LT(measured[iid + 2][c], measured[iid + 1][c]);
    }
  }
}

/// Repelling hops stay as they are; opposite halts spread lengths as well.
TEST(RepellingWalks, HaveLessErrorWithAntitheticHalting) {
  constexpr int kRepeats = 60;
  const WeightedGraph graph = GridGraph(6, 6);
  const Matrix exact = PowerSeries(graph, kLongHalving);
  for (const int walks : {4, 16, 64}) {
    double alone = 0, in_pairs = 0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const auto error_of = [&](bool antithetic_halting) {
        const WalkLoads loads =
            Sampled(graph, WalkSampler::kRepelling, walks, 0.5, repeat, 7, antithetic_halting);
        return RelativeError(Features(loads, kLongHalving), exact) / kRepeats;
      };
      alone += error_of(false);
      in_pairs += error_of(true);
    }
    EXPECT_LT(in_pairs, alone) << walks << " walks";
  }
  // Without halting there is nothing to pair.
  const WalkLoads alone = Sampled(graph, WalkSampler::kRepelling, 4, 0, 3);
  EXPECT_EQ(Sampled(graph, WalkSampler::kRepelling, 4, 0, 3, 3, true).loads, alone.loads);
}

TEST(WalkSampler, IidErrorFallsWithTheRootOfTheWalkCount) {
  constexpr int kRepeats = 100;
  const WeightedGraph graph = GridGraph(5, 5);
  const Matrix exact = PowerSeries(graph, kHalving);
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  int points = 0;
  for (int walks = 4; walks <= 256; walks *= 4, ++points) {
    double error = 0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      error += RelativeError(
          Features(Sampled(graph, WalkSampler::kIid, walks, 0.1, repeat), kHalving), exact);
    }
    const double x = std::log(walks);
    const double y = std::log(error / kRepeats);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double slope = (points * sum_xy - sum_x * sum_y) / (points * sum_xx - sum_x * sum_x);
  EXPECT_NEAR(slope, -0.5, kErrorSlopeTolerance);
}

}  // namespace
}  // namespace interlacer::testing
