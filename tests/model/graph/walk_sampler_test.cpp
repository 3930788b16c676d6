#include "model/graph/walk_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/random.h"
#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "tests/model/graph/enumerated_walks.h"
#include "tests/model/graph/graphs.h"
#include "tests/model/graph/sampled_walks.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

std::vector<double> RandomVector(std::int64_t n) {
  RandomSequence random(99, RandomStream::kDataGeneration);
  std::vector<double> v(n);
  for (double& x : v) x = random.Normal();
  return v;
}

struct SamplerCase {
  std::string name;
  WalkSampler sampler;
  bool antithetic_halting = false;

  WalkLoads Walks(const WeightedGraph& graph, int walks, double halt, std::uint64_t seed,
                  int max_hops = 3) const {
    return Sampled(graph, sampler, walks, halt, seed, max_hops, antithetic_halting);
  }
};
const SamplerCase kSamplers[] = {
    {"iid", WalkSampler::kIid},
    {"antithetic", WalkSampler::kAntithetic},
    {"repelling", WalkSampler::kRepelling},
    {"repelling_per_prefix", WalkSampler::kRepellingPerPrefix},
    {"repelling_in_pairs", WalkSampler::kRepelling, true},
    {"repelling_per_prefix_in_pairs", WalkSampler::kRepellingPerPrefix, true}};

class WalkSamplerTest : public ::testing::TestWithParam<SamplerCase> {};

INSTANTIATE_TEST_SUITE_P(Samplers, WalkSamplerTest, ::testing::ValuesIn(kSamplers),
                         [](const auto& test) { return test.param.name; });

TEST_P(WalkSamplerTest, FeaturesAreUnbiased) {
  constexpr int kRepeats = 4000;
  const WeightedGraph graphs[] = {GridGraph(4, 4),
                                  NeighborGraph(60, EdgeWeight::kInverseSqrtDegree, 3)};
  for (const WeightedGraph& graph : graphs) {
    const Matrix exact = PowerSeries(graph, kHalving);
    const std::vector<double> v = RandomVector(graph.n);
    for (const double halt : {0.0, 0.1, 0.5}) {
      const int nodes[3] = {0, 5, static_cast<int>(graph.n) - 1};
      Sample samples[3];
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const Matrix features = Features(GetParam().Walks(graph, 4, halt, 1000 + repeat), kHalving);
        for (int s = 0; s < 3; ++s) samples[s].Add(Dot(features[nodes[s]], v));
      }
      for (int s = 0; s < 3; ++s) {
        EXPECT_LE(std::abs(samples[s].StandardErrors(Dot(exact[nodes[s]], v))), kMaxStandardErrors)
            << "n " << graph.n << " node " << nodes[s] << " halt " << halt;
      }
    }
  }
}

TEST_P(WalkSamplerTest, SymmetricMaskIsUnbiasedOffTheDiagonal) {
  constexpr int kRepeats = 4000;
  const WeightedGraph graph = GridGraph(4, 4);
  const Matrix phi = PowerSeries(graph, kHalving);
  Sample sample;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Matrix features = Features(GetParam().Walks(graph, 4, 0.5, 9000 + repeat), kHalving);
    sample.Add(Dot(features[5], features[6]));
  }
  EXPECT_LE(std::abs(sample.StandardErrors(Dot(phi[5], phi[6]))), kMaxStandardErrors);
}

TEST_P(WalkSamplerTest, OneWalkOfNoHopsStaysAtHome) {
  const bool in_pairs =
      GetParam().antithetic_halting || GetParam().sampler == WalkSampler::kAntithetic;
  const WalkLoads loads = GetParam().Walks(RingGraph(5), in_pairs ? 2 : 1, 0, 1, 0);
  EXPECT_EQ(loads.nodes, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(loads.loads, std::vector<double>(5, 1));
}

TEST_P(WalkSamplerTest, WalksEndWhereThereIsNoEdge) {
  WeightedGraph graph;  // 0 -> 1, 1 and 2 without out-edges
  graph.n = 3;
  graph.offsets = {0, 1, 1, 1};
  graph.neighbors = {1};
  graph.weights = {0.5};
  const WalkLoads loads = GetParam().Walks(graph, 4, 0, 1);
  EXPECT_EQ(loads.offsets, (std::vector<std::int32_t>{0, 2, 3, 4}));
  EXPECT_EQ(loads.loads, (std::vector<double>{1, 0, 0, 0, 0, 0.5, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST_P(WalkSamplerTest, SeedsRepeatAndEnsemblesDiffer) {
  const WeightedGraph graph = GridGraph(6, 6);
  WalkSamplerOptions options;
  options.sampler = GetParam().sampler;
  options.antithetic_halting = GetParam().antithetic_halting;
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
  const WeightedGraph graph = GridGraph(4, 4);
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
  EXPECT_LE(std::abs(right.StandardErrors(exact)), kMaxStandardErrors);
  EXPECT_GE(std::abs(no_degree.StandardErrors(exact)), kSeen);
  EXPECT_GE(std::abs(no_halting.StandardErrors(exact)), kSeen);
  EXPECT_GE(std::abs(twice.StandardErrors(exact)), kSeen);
}

TEST(WalkSampler, DiagonalOfTheSymmetricMaskIsBiasedByTheVariance) {
  constexpr int kRepeats = 4000;
  const WeightedGraph graph = GridGraph(4, 4);
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
  EXPECT_NEAR(same.mean() - exact, trace_of_covariance,
              kSampledBiasTolerance * trace_of_covariance);
  EXPECT_LE(std::abs(independent.StandardErrors(exact)), kMaxStandardErrors);
}

TEST(AntitheticHalting, PartnersNeverHaltTogetherAndHaltAsOftenAsTheyShould) {
  // Two walkers on a ring whose edges carry weight 1: the load of hop t is 1/2 (1 - p)^-t for every
  // walker still alive, so the sum over nodes counts the living.
  constexpr int kRepeats = 4000;
  WeightedGraph ring = RingGraph(20);
  ring.weights.assign(ring.weights.size(), 0.5);
  for (const SamplerCase& sampler : kSamplers) {
    if (!sampler.antithetic_halting && sampler.sampler != WalkSampler::kAntithetic) continue;
    for (const double halt : {0.2, 0.5}) {
      Sample halted_first;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const WalkLoads walks = sampler.Walks(ring, 2, halt, repeat, 1);
        double living = 0;
        for (int e = walks.offsets[0]; e < walks.offsets[1]; ++e) {
          living += 2 * walks.loads[2 * e + 1] * (1 - halt);
        }
        ASSERT_GE(std::lround(living), 1)
            << sampler.name << ": both partners halted at the first node";
        halted_first.Add(2 - living);
      }
      // With halt 1/2 exactly one of the two halts each time; the rate then has no spread.
      if (halt < 0.5) {
        EXPECT_LE(std::abs(halted_first.StandardErrors(2 * halt)), kMaxStandardErrors)
            << sampler.name;
      } else {
        EXPECT_NEAR(halted_first.mean(), 1, kExactLoadTolerance) << sampler.name;
      }
    }
  }
}

TEST(WalkSampler, RefusesBadOptions) {
  const WeightedGraph graph = RingGraph(4);
  const auto reason_of = [&](const auto& change) {
    WalkSamplerOptions options;
    change(options);
    return SampleWalks(graph, options).status().reason();
  };
  EXPECT_EQ(reason_of([](auto& o) { o.walk_count = 0; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.sampler = WalkSampler::kAntithetic; }),
            reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.antithetic_halting = true; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.max_hops = -1; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.halt_probability = 1; }), reason::ARGUMENT_INVALID);
  EXPECT_EQ(reason_of([](auto& o) { o.halt_probability = NAN; }), reason::ARGUMENT_INVALID);
}

TEST(WalkSampler, RefusesAMalformedGraph) {
  WeightedGraph graph = RingGraph(4);
  graph.weights.pop_back();
  EXPECT_EQ(SampleWalks(graph, {}).status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(
      ToWeightedGraph(SparseGraph{2, {0, 1, 2}, {1, 0}}, std::vector<float>(3)).status().reason(),
      reason::SHAPE_MISMATCH);
}

TEST(EnumerateWalks, EqualsDensePowers) {
  const WeightedGraph graph = GridGraph(4, 4);
  EXPECT_LE(
      RelativeError(Features(EnumerateWalks(graph, 3), kHalving), PowerSeries(graph, kHalving)),
      kExactLoadTolerance);
}

TEST(EnumerateWalks, EqualsTheListsOfAnUndirectedGraph) {
  const std::vector<float> cloud = SheetCloud(200, 5);
  const SparseGraph graph = *Symmetrised(BruteForceGraph(cloud, 3));
  const std::vector<float> weights = *EdgeWeights(graph, EdgeWeight::kInverseSqrtDegree, cloud);
  const WeightedWalkLists direct = *BuildWeightedWalkLists(graph, weights);
  const WeightedWalkLists walked =
      *ToWalkLists(EnumerateWalks(*ToWeightedGraph(graph, weights), kMaxHops));
  ASSERT_EQ(walked.offsets, direct.offsets);
  ASSERT_EQ(walked.nodes, direct.nodes);
  for (std::size_t x = 0; x < direct.loads.size(); ++x) {
    ASSERT_NEAR(walked.loads[x], direct.loads[x], kExactFloatLoadTolerance);
  }
}

TEST(SampleWalks, EndAtALimitOfLoads) {
  const WeightedGraph graph = GridGraph(16, 16);
  WalkSamplerOptions options;
  options.walk_count = 4;
  options.max_hops = 3;
  const auto all = SampleWalks(graph, options);
  ASSERT_TRUE(all.ok());
  const auto count = static_cast<std::int64_t>(all->loads.size());
  EXPECT_EQ(SampleWalks(graph, options, count)->loads, all->loads);
  const Status status = SampleWalks(graph, options, count - 1).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.reason(), reason::HOST_MEMORY);
}

TEST(ToWalkLists, TakesThreeHopsOnly) {
  EXPECT_EQ(ToWalkLists(EnumerateWalks(RingGraph(5), 2)).status().reason(),
            reason::ARGUMENT_INVALID);
}

}  // namespace
}  // namespace interlacer::testing
