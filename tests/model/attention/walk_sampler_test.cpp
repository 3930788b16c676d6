#include "model/attention/walk_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/random.h"
#include "knn/brute_force.h"
#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "model/attention/walk_bounds.h"
#include "tests/model/attention/graphs.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::Dot;
using testing::Features;
using testing::Matrix;
using testing::PowerSeries;
using testing::RelativeError;
using testing::Sample;

const std::vector<double> kHalving = {1, 0.5, 0.25, 0.125};
const std::vector<double> kLongHalving = {1,      0.5,     0.25,     0.125,
                                          0.0625, 0.03125, 0.015625, 0.0078125};

WeightedGraph NeighborGraph(int n, EdgeWeighting weighting, std::uint64_t seed) {
  const std::vector<float> cloud = testing::CubeCloud(n, seed);
  const KnnGraph graph = *BruteForceIndex().Graph(cloud, 3);
  WeightedGraph weighted = *ToWeightedGraph(graph, *EdgeWeights(graph, weighting, cloud));
  if (weighting == EdgeWeighting::kConstant) {  // a third in double, not in float
    weighted.weights.assign(weighted.weights.size(), 1.0 / 3);
  }
  return weighted;
}

WalkLoads Sampled(const WeightedGraph& graph, WalkSampler sampler, int walks, double halt,
                  std::uint64_t seed, int max_hops = 3) {
  WalkSamplerOptions options;
  options.sampler = sampler;
  options.walk_count = walks;
  options.halt_probability = halt;
  options.max_hops = max_hops;
  options.seed = seed;
  StatusOr<WalkLoads> loads = SampleWalks(graph, options);
  EXPECT_TRUE(loads.ok()) << loads.status().ToString();
  return *std::move(loads);
}

std::vector<double> RandomVector(std::int64_t n) {
  RandomSequence random(99, RandomStream::kDataGeneration);
  std::vector<double> v(n);
  for (double& x : v) x = random.Normal();
  return v;
}

struct SamplerCase {
  std::string name;
  WalkSampler sampler;
};
const SamplerCase kSamplers[] = {{"iid", WalkSampler::kIid},
                                 {"antithetic", WalkSampler::kAntithetic},
                                 {"repelling", WalkSampler::kRepelling},
                                 {"repelling_per_prefix", WalkSampler::kRepellingPerPrefix}};

class WalkSamplerTest : public ::testing::TestWithParam<SamplerCase> {};

INSTANTIATE_TEST_SUITE_P(Samplers, WalkSamplerTest, ::testing::ValuesIn(kSamplers),
                         [](const auto& test) { return test.param.name; });

TEST_P(WalkSamplerTest, FeaturesAreUnbiased) {
  constexpr int kRepeats = 4000;
  const WeightedGraph graphs[] = {testing::GridGraph(4, 4),
                                  NeighborGraph(60, EdgeWeighting::kInvSqrtDeg, 3)};
  for (const WeightedGraph& graph : graphs) {
    const Matrix exact = PowerSeries(graph, kHalving);
    const std::vector<double> v = RandomVector(graph.n);
    for (const double halt : {0.0, 0.1, 0.5}) {
      const int nodes[3] = {0, 5, static_cast<int>(graph.n) - 1};
      Sample samples[3];
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const Matrix features =
            Features(Sampled(graph, GetParam().sampler, 4, halt, 1000 + repeat), kHalving);
        for (int s = 0; s < 3; ++s) samples[s].Add(Dot(features[nodes[s]], v));
      }
      for (int s = 0; s < 3; ++s) {
        EXPECT_LE(std::abs(samples[s].StandardErrors(Dot(exact[nodes[s]], v))),
                  testing::kMaxStandardErrors)
            << "n " << graph.n << " node " << nodes[s] << " halt " << halt;
      }
    }
  }
}

TEST_P(WalkSamplerTest, SymmetricMaskIsUnbiasedOffTheDiagonal) {
  constexpr int kRepeats = 4000;
  const WeightedGraph graph = testing::GridGraph(4, 4);
  const Matrix phi = PowerSeries(graph, kHalving);
  Sample sample;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Matrix features =
        Features(Sampled(graph, GetParam().sampler, 4, 0.5, 9000 + repeat), kHalving);
    sample.Add(Dot(features[5], features[6]));
  }
  EXPECT_LE(std::abs(sample.StandardErrors(Dot(phi[5], phi[6]))), testing::kMaxStandardErrors);
}

TEST_P(WalkSamplerTest, OneWalkOfNoHopsStaysAtHome) {
  const int walks = GetParam().sampler == WalkSampler::kAntithetic ? 2 : 1;
  const WalkLoads loads = Sampled(testing::RingGraph(5), GetParam().sampler, walks, 0, 1, 0);
  EXPECT_EQ(loads.nodes, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(loads.loads, std::vector<double>(5, 1));
}

TEST_P(WalkSamplerTest, WalksEndWhereThereIsNoEdge) {
  WeightedGraph graph;  // 0 -> 1, 1 and 2 without out-edges
  graph.n = 3;
  graph.offsets = {0, 1, 1, 1};
  graph.neighbors = {1};
  graph.weights = {0.5};
  const WalkLoads loads = Sampled(graph, GetParam().sampler, 4, 0, 1);
  EXPECT_EQ(loads.offsets, (std::vector<std::int32_t>{0, 2, 3, 4}));
  EXPECT_EQ(loads.loads, (std::vector<double>{1, 0, 0, 0, 0, 0.5, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST_P(WalkSamplerTest, SeedsRepeatAndEnsemblesDiffer) {
  const WeightedGraph graph = testing::GridGraph(6, 6);
  WalkSamplerOptions options;
  options.sampler = GetParam().sampler;
  options.walk_count = 4;
  options.halt_probability = 0.2;
  const std::vector<double> first = SampleWalks(graph, options)->loads;
  EXPECT_EQ(SampleWalks(graph, options)->loads, first);
  options.ensemble = 1;
  EXPECT_NE(SampleWalks(graph, options)->loads, first);
}

TEST(WalkSampler, UnbiasednessTestHasPower) {
  // Wrong estimators must be seen: without the degree, without 1/(1-p), divided by n twice.
  constexpr int kRepeats = 4000;
  constexpr double kSeen = 8;  // standard errors
  constexpr double kHalt = 0.5;
  const WeightedGraph graph = testing::GridGraph(4, 4);
  WeightedGraph without_degree = graph;  // the sampler multiplies by the degree: divide it out
  for (int i = 0; i < graph.n; ++i) {
    for (int e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      without_degree.weights[e] /= graph.offsets[i + 1] - graph.offsets[i];
    }
  }
  std::vector<double> without_halting = kHalving;
  std::vector<double> divided_twice = kHalving;
  for (std::size_t t = 0; t < kHalving.size(); ++t) {
    without_halting[t] *= std::pow(1 - kHalt, static_cast<double>(t));
    divided_twice[t] /= 4;
  }
  const std::vector<double> v(16, 1);
  const double exact = Dot(PowerSeries(graph, kHalving)[5], v);
  Sample right, no_degree, no_halting, twice;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const WalkLoads walks = Sampled(graph, WalkSampler::kIid, 4, kHalt, repeat);
    right.Add(Dot(Features(walks, kHalving)[5], v));
    no_halting.Add(Dot(Features(walks, without_halting)[5], v));
    twice.Add(Dot(Features(walks, divided_twice)[5], v));
    const WalkLoads wrong = Sampled(without_degree, WalkSampler::kIid, 4, kHalt, repeat);
    no_degree.Add(Dot(Features(wrong, kHalving)[5], v));
  }
  EXPECT_LE(std::abs(right.StandardErrors(exact)), testing::kMaxStandardErrors);
  EXPECT_GE(std::abs(no_degree.StandardErrors(exact)), kSeen);
  EXPECT_GE(std::abs(no_halting.StandardErrors(exact)), kSeen);
  EXPECT_GE(std::abs(twice.StandardErrors(exact)), kSeen);
}

TEST(WalkSampler, DiagonalOfTheSymmetricMaskIsBiasedByTheVariance) {
  constexpr int kRepeats = 4000;
  constexpr double kBiasTolerance = 0.1;  // of the sample's variance
  const WeightedGraph graph = testing::GridGraph(4, 4);
  const Matrix phi = PowerSeries(graph, kHalving);
  const double exact = Dot(phi[5], phi[5]);
  Sample same, independent;
  std::vector<Sample> entries(16);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Matrix a = Features(Sampled(graph, WalkSampler::kIid, 4, 0.5, repeat), kHalving);
    const Matrix b = Features(Sampled(graph, WalkSampler::kIid, 4, 0.5, 50000 + repeat), kHalving);
    same.Add(Dot(a[5], a[5]));
    independent.Add(Dot(a[5], b[5]));
    for (int j = 0; j < 16; ++j) entries[j].Add(a[5][j]);
  }
  double trace_of_covariance = 0;
  for (const Sample& entry : entries) trace_of_covariance += entry.variance();
  EXPECT_GT(same.mean() - exact, 0);
  EXPECT_NEAR(same.mean() - exact, trace_of_covariance, kBiasTolerance * trace_of_covariance);
  EXPECT_LE(std::abs(independent.StandardErrors(exact)), testing::kMaxStandardErrors);
}

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
  const WeightedGraph graph = NeighborGraph(2048, EdgeWeighting::kConstant, 11);
  const WalkLoads exact = *EnumerateWalks(graph, 3);
  for (const int walks : {27, 54, 81}) {
    for (const WalkSampler sampler : {WalkSampler::kRepelling, WalkSampler::kRepellingPerPrefix}) {
      const RowErrors errors = ErrorsOf(Sampled(graph, sampler, walks, 0, 7), exact, kHalving);
      EXPECT_LE(errors.largest, testing::kExactLoadTolerance) << walks << " walks";
    }
  }
}

TEST(RepellingWalks, AreExactInFloatLists) {
  const std::vector<float> cloud = testing::CubeCloud(2048, 12);
  const KnnGraph graph = *BruteForceIndex().Graph(cloud, 3);
  const WeightedGraph weighted =
      *ToWeightedGraph(graph, *EdgeWeights(graph, EdgeWeighting::kConstant, {}));
  const WeightedWalkLists sampled =
      *ToWalkLists(Sampled(weighted, WalkSampler::kRepelling, 27, 0, 7));
  const WeightedWalkLists exact = ToWeighted(*BuildWalkLists(graph));
  ASSERT_EQ(sampled.offsets, exact.offsets);
  ASSERT_EQ(sampled.nodes, exact.nodes);
  for (std::size_t x = 0; x < exact.loads.size(); ++x) {
    ASSERT_NEAR(sampled.loads[x], exact.loads[x], testing::kExactFloatLoadTolerance);
  }
}

TEST(RepellingWalks, AreNotExactForOtherCounts) {
  constexpr double kVisibleError = 0.01;
  const WeightedGraph graph = NeighborGraph(2048, EdgeWeighting::kConstant, 11);
  const WalkLoads exact = *EnumerateWalks(graph, 3);
  const std::vector<double> slow_decay = {1, 0.99, 0.98, 0.97};
  for (const int walks : {9, 26, 28}) {
    const WalkLoads sampled = Sampled(graph, WalkSampler::kRepelling, walks, 0, 7);
    EXPECT_GT(ErrorsOf(sampled, exact, slow_decay).mean, kVisibleError) << walks << " walks";
  }
}

TEST(RepellingWalks, PerPrefixAreExactForAnyWeights) {
  for (const EdgeWeighting weighting : {EdgeWeighting::kExpDist, EdgeWeighting::kInvSqrtDeg}) {
    const WeightedGraph graph = NeighborGraph(2048, weighting, 13);
    const WalkLoads exact = *EnumerateWalks(graph, 3);
    const WalkLoads sampled = Sampled(graph, WalkSampler::kRepellingPerPrefix, 27, 0, 7);
    EXPECT_LE(ErrorsOf(sampled, exact, kHalving).largest, testing::kExactLoadTolerance);
    const WalkLoads by_node = Sampled(graph, WalkSampler::kRepelling, 27, 0, 7);
    EXPECT_GT(ErrorsOf(by_node, exact, kHalving).largest, testing::kExactLoadTolerance);
  }
}

TEST(WalkSampler, ErrorsFollowTheReferenceTable) {
  constexpr int kRepeats = 60;
  constexpr double kTableTolerance = 0.15;
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
  const WeightedGraph graph = testing::GridGraph(6, 6);
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
      EXPECT_NEAR(measured[r][c], rows[r].error[c], kTableTolerance * rows[r].error[c])
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

TEST(WalkSampler, IidErrorFallsWithTheRootOfTheWalkCount) {
  constexpr int kRepeats = 100;
  constexpr double kSlopeTolerance = 0.05;
  const WeightedGraph graph = testing::GridGraph(5, 5);
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
  EXPECT_NEAR(slope, -0.5, kSlopeTolerance);
}

TEST(AntitheticWalks, PartnersNeverHaltTogetherAndHaltAsOftenAsTheyShould) {
  // Two walkers on a ring whose edges carry weight 1: the load of hop t is 1/2 (1 - p)^-t for every
  // walker still alive, so the sum over nodes counts the living.
  constexpr int kRepeats = 4000;
  for (const double halt : {0.2, 0.5}) {
    WeightedGraph ring = testing::RingGraph(20);
    ring.weights.assign(ring.weights.size(), 0.5);
    Sample halted_first;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const WalkLoads walks = Sampled(ring, WalkSampler::kAntithetic, 2, halt, repeat, 1);
      double living = 0;
      for (int e = walks.offsets[0]; e < walks.offsets[1]; ++e) {
        living += 2 * walks.loads[2 * e + 1] * (1 - halt);
      }
      ASSERT_GE(std::lround(living), 1) << "both partners halted at the first node";
      halted_first.Add(2 - living);
    }
    // With halt 1/2 exactly one of the two halts each time; the rate then has no spread.
    if (halt < 0.5) {
      EXPECT_LE(std::abs(halted_first.StandardErrors(2 * halt)), testing::kMaxStandardErrors);
    } else {
      EXPECT_NEAR(halted_first.mean(), 1, testing::kExactLoadTolerance);
    }
  }
}

TEST(WalkSampler, RefusesBadOptions) {
  const WeightedGraph graph = testing::RingGraph(4);
  const auto reason_of = [&](const auto& change) {
    WalkSamplerOptions options;
    change(options);
    return SampleWalks(graph, options).status().reason();
  };
  EXPECT_EQ(reason_of([](auto& o) { o.walk_count = 0; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.sampler = WalkSampler::kAntithetic; }),
            reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.max_hops = -1; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.halt_probability = 1; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.halt_probability = NAN; }), reason::ARGUMENT_INVALID);
}

TEST(WalkSampler, RefusesAMalformedGraph) {
  WeightedGraph graph = testing::RingGraph(4);
  graph.weights.pop_back();
  EXPECT_EQ(SampleWalks(graph, {}).status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(EnumerateWalks(graph, 3).status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(ToWeightedGraph(KnnGraph{2, 1, {1, 0}}, std::vector<float>(3)).status().reason(),
            reason::SHAPE_MISMATCH);
}

TEST(EnumerateWalks, EqualsDensePowers) {
  const WeightedGraph graph = testing::GridGraph(4, 4);
  EXPECT_LE(
      RelativeError(Features(*EnumerateWalks(graph, 3), kHalving), PowerSeries(graph, kHalving)),
      testing::kExactLoadTolerance);
}

TEST(EnumerateWalks, EqualsTheListsOfAnUndirectedGraph) {
  const std::vector<float> cloud = testing::SheetCloud(200, 5);
  const SparseGraph graph = *Symmetrised(*BruteForceIndex().Graph(cloud, 3));
  const std::vector<float> weights = *EdgeWeights(graph, EdgeWeighting::kInvSqrtDeg, cloud);
  const WeightedWalkLists direct = *BuildWeightedWalkLists(graph, weights);
  const WeightedWalkLists walked =
      *ToWalkLists(*EnumerateWalks(*ToWeightedGraph(graph, weights), kMaxHops));
  ASSERT_EQ(walked.offsets, direct.offsets);
  ASSERT_EQ(walked.nodes, direct.nodes);
  for (std::size_t x = 0; x < direct.loads.size(); ++x) {
    ASSERT_NEAR(walked.loads[x], direct.loads[x], testing::kExactFloatLoadTolerance);
  }
}

TEST(ToWalkLists, TakesThreeHopsOnly) {
  EXPECT_EQ(ToWalkLists(*EnumerateWalks(testing::RingGraph(5), 2)).status().reason(),
            reason::ARGUMENT_INVALID);
}

}  // namespace
}  // namespace interlacer
