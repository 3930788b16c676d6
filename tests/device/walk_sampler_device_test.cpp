#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "common/random.h"
#include "model/kernels/walk_sampler_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 38;

/// Nodes of degree 0 to 5, with repeated edges and loops.
struct Graph {
  std::vector<std::int32_t> offsets{0}, neighbors;
  std::vector<double> weights;
  std::int64_t n() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

Graph RandomGraph(int n) {
  RandomSequence random(kSeed + n, RandomStream::kDataGeneration);
  Graph graph;
  for (int i = 0; i < n; ++i) {
    const int degree = static_cast<int>(random.Below(6));
    for (int r = 0; r < degree; ++r) {
      graph.neighbors.push_back(static_cast<std::int32_t>(random.Below(n)));
      graph.weights.push_back(random.Uniform(0.1, 0.9));
    }
    graph.offsets.push_back(static_cast<std::int32_t>(graph.neighbors.size()));
  }
  return graph;
}

struct Rows {
  std::vector<std::int32_t> offsets{0}, nodes;
  std::vector<float> loads;
};

Rows OnHost(const Graph& graph, const WalkSamplerOptions& options) {
  const auto sort = [](WalkGroupMember* begin, WalkGroupMember* end) { std::sort(begin, end); };
  std::vector<Walker> walkers(options.walk_count);
  std::vector<double> draws(options.walk_count);
  std::vector<WalkGroupMember> order(options.walk_count);
  WalkEnsemble ensemble({graph.offsets.data(), graph.neighbors.data(), graph.weights.data()},
                        options, {walkers.data(), draws.data(), order.data()}, sort);
  Rows rows;
  for (std::int32_t i = 0; i < graph.n(); ++i) {
    std::map<std::int32_t, std::array<double, 4>> row;
    ensemble.Run(i, i, [&](std::int32_t node, int hops, double load) { row[node][hops] += load; });
    for (const auto& [node, loads] : row) {
      rows.nodes.push_back(node);
      for (const double load : loads) {
        rows.loads.push_back(static_cast<float>(load * (1.0 / options.walk_count)));
      }
    }
    rows.offsets.push_back(static_cast<std::int32_t>(rows.nodes.size()));
  }
  return rows;
}

Rows OnDevice(const Graph& graph, const WalkSamplerOptions& options) {
  const CheckedStream stream;
  const std::int64_t room = graph.n() * MaxSampledRowSize(options.walk_count);
  const DeviceArray<std::int32_t> graph_offsets(stream, graph.offsets);
  const DeviceArray<std::int32_t> neighbors(stream, graph.neighbors);
  const DeviceArray<double> weights(stream, graph.weights);
  const DeviceArray<std::int32_t> offsets(stream, graph.n() + 1), nodes(stream, room);
  const DeviceArray<float> loads(stream, 4 * room);
  const DeviceArray<char> workspace(
      stream, static_cast<std::int64_t>(SampleWalksWorkspaceBytes(graph.n())));
  EXPECT_EQ(
      LaunchSampleWalks({graph_offsets.get(), neighbors.get(), weights.get()}, graph.n(), options,
                        workspace.get(), {offsets.get(), nodes.get(), loads.get()}, stream.get()),
      0);
  Rows rows;
  rows.offsets = offsets.Read();
  rows.nodes = nodes.Read(rows.offsets.back());
  rows.loads = loads.Read(4 * std::int64_t{rows.offsets.back()});
  return rows;
}

void ExpectEqual(const Rows& got, const Rows& expected) {
  EXPECT_EQ(got.offsets, expected.offsets);
  EXPECT_EQ(got.nodes, expected.nodes);
  EXPECT_EQ(got.loads, expected.loads);
}

struct SamplerCase {
  std::string name;
  WalkSampler sampler;
  bool antithetic_halting = false;
};

class WalkSamplerDeviceTest : public ::testing::TestWithParam<SamplerCase> {};

TEST_P(WalkSamplerDeviceTest, EqualsTheCpuToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int n : {1, 16, 333}) {
    for (const int walk_count : {2, 26, 32}) {
      for (const double halt_probability : {0.0, 0.3}) {
        const WalkSamplerOptions options{
            GetParam().sampler,           walk_count, 3, halt_probability, kSeed, 5,
            GetParam().antithetic_halting};
        const Graph graph = RandomGraph(n);
        ExpectEqual(OnDevice(graph, options), OnHost(graph, options));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Samplers, WalkSamplerDeviceTest,
    ::testing::Values(SamplerCase{"Iid", WalkSampler::kIid},
                      SamplerCase{"Antithetic", WalkSampler::kAntithetic},
                      SamplerCase{"Repelling", WalkSampler::kRepelling},
                      SamplerCase{"RepellingPerPrefix", WalkSampler::kRepellingPerPrefix},
                      SamplerCase{"RepellingInPairs", WalkSampler::kRepelling, true}),
    [](const auto& test) { return test.param.name; });

TEST(WalkSamplerDevice, NoNodesHaveOneOffset) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  ExpectEqual(OnDevice(Graph(), WalkSamplerOptions()), Rows());
}

TEST(WalkSamplerDevice, RefusesPlansBeyondItsMemory) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  const auto launch = [&](const WalkSamplerOptions& options) {
    return LaunchSampleWalks({}, 10, options, nullptr, {}, stream.get());
  };
  EXPECT_NE(launch({WalkSampler::kRepelling, kMaxCudaWalks + 1, 3, 0, 0, 0}), 0);
  EXPECT_NE(launch({WalkSampler::kRepelling, 27, 2, 0, 0, 0}), 0);
  EXPECT_NE(launch({WalkSampler::kAntithetic, 27, 3, 0, 0, 0}), 0);
  EXPECT_NE(launch({WalkSampler::kRepelling, 27, 3, 0, 0, 0, true}), 0);
}

}  // namespace
}  // namespace interlacer::testing
