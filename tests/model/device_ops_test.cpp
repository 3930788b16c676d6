/// Operations of the model on a device (tests/model/test_device.h) against the host's: values,
/// gradients, graphs.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "knn/walk_lists.h"
#include "model/graph/cloud_order.h"
#include "model/graph/token_graph.h"
#include "model/ops/deterministic_gradients.h"
#include "model/ops/grf_attention_op.h"
#include "model/ops/linear_attention_op.h"
#include "tests/model/gradient_check.h"
#include "tests/model/test_device.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/brute_force.h"
#include "tests/support/tolerances.h"
#include "tests/support/weighted_lists.h"

namespace interlacer::testing {
namespace {

constexpr int kNeighbors = 3;

using TensorList = std::vector<torch::Tensor>;

/// The result of `run` and the gradients of its inputs, weighed by a fixed random tensor.
TensorList ValueAndGradients(const std::function<torch::Tensor(const TensorList&)>& run,
                             const TensorList& inputs) {
  TensorList leaves;
  for (const torch::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
  const torch::Tensor out = run(leaves);
  at::manual_seed(77);
  TensorList results{out.detach()};
  for (const auto& grad :
       torch::autograd::grad({(out * at::randn(out.sizes()).to(out.device())).sum()}, leaves)) {
    results.push_back(grad);
  }
  return results;
}

void ExpectClose(const TensorList& got, const TensorList& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(RelativeL2(got[i], expected[i]), tolerance) << "result " << i;
  }
}

TensorList RandomRows(std::int64_t n, std::int64_t width) {
  at::manual_seed(31);
  return {at::randn({n, width}), at::randn({n, width}), at::randn({n, width})};
}

class DeviceGrfOp : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<const WalkMask> MaskOf(const Cloud& cloud) const {
    const KnnGraph graph = BruteForceGraph(cloud, kNeighbors);
    WalkLists lists = *BuildWalkLists(graph);
    if (GetParam()) return std::make_shared<WalkMask>(std::move(lists), graph.out_degree, true);
    return std::make_shared<WalkMask>(ToWeighted(lists), true);
  }
};

TEST_P(DeviceGrfOp, EqualsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const Cloud cloud = SheetCloud(150, 4);
  const auto mask = MaskOf(cloud);
  TensorList inputs = RandomRows(mask->token_count(), 20);
  inputs.push_back(at::tensor({1.f, 0.9f, 0.7f, 0.4f}));
  const auto through = [](const std::shared_ptr<const WalkMask>& pairs, const TensorList& rows,
                          const CudaBackend* cuda) {
    return ValueAndGradients(
        [&](const TensorList& x) {
          const torch::Tensor weights = at::matmul(pairs->loads().to(at::kFloat), x[3]);
          return GrfAttention(x[0], x[1], x[2], weights, pairs, {}, cuda);
        },
        rows);
  };
  const TensorList expected = through(mask, inputs, nullptr);
  const TestDevice device;
  const TensorList on_device = device.Put(inputs);
  ExpectClose(
      through(std::make_shared<WalkMask>(mask->CopyTo(on_device[0])), on_device, device.cuda()),
      expected, kFloatOpTolerance);
}

INSTANTIATE_TEST_SUITE_P(Lists, DeviceGrfOp, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "packed" : "weighted"; });

TEST(DeviceLinearAttention, EqualsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  for (const int heads : {4, 1}) {  // heads of 96 channels are left to torch
    const LinearAttentionForm form = LinearAttentionFormOf(96 / heads);
    const TensorList inputs = RandomRows(700, 96);
    const auto run = [&](const TensorList& rows, const CudaBackend* cuda) {
      return ValueAndGradients(
          [&](const TensorList& x) { return form(x[0], x[1], x[2], heads, {}, cuda); }, rows);
    };
    const TensorList expected = run(inputs, nullptr);
    const TestDevice device;
    ExpectClose(run(device.Put(inputs), device.cuda()), expected, kFloatOpTolerance);
  }
}

TEST(DeviceCloudOrder, OrdersTwoCloudsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const auto cloud_of = [](const Cloud& positions) {
    const torch::Tensor positions_m = ToPositions(positions);
    return CloudTensors{positions_m, at::randn({positions_m.size(0), 6})};
  };
  const CloudTensors older = cloud_of(SheetCloud(500, 1)), newer = cloud_of(CubeCloud(420, 2));
  const OrderedClouds expected = InSpatialOrder(older, newer);
  const TestDevice device;
  for (const bool with_gradients : {false, true}) {  // the latter takes torch's own gathers
    const at::AutoGradMode mode(with_gradients);
    const OrderedClouds got = InSpatialOrder(device.Put(older), device.Put(newer), device.cuda());
    EXPECT_TRUE(AreEqual(got.older.positions_m, expected.older.positions_m));
    EXPECT_TRUE(AreEqual(got.older.features, expected.older.features));
    EXPECT_TRUE(AreEqual(got.newer.positions_m, expected.newer.positions_m));
    EXPECT_TRUE(AreEqual(got.newer.features, expected.newer.features));
    EXPECT_TRUE(AreEqual(got.newer_order.particle_at, expected.newer_order.particle_at));
    EXPECT_TRUE(AreEqual(got.newer_order.place_of, expected.newer_order.place_of));
  }
}

TEST(DeviceCloudOrder, EqualsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  for (const Cloud& cloud : {SheetCloud(500, 1), CubeCloud(97, 2), CoincidentCloud(12)}) {
    const torch::Tensor positions_m = ToPositions(cloud);
    const CloudOrder expected = SpatialOrder(positions_m);
    const TestDevice device;
    const CloudOrder got = SpatialOrder(device.Put(positions_m), device.cuda());
    EXPECT_TRUE(AreEqual(got.particle_at, expected.particle_at));
    EXPECT_TRUE(AreEqual(got.place_of, expected.place_of));
  }
}

struct GraphCase {
  const char* name;
  LocalLayer local;
  GraphScope scope = GraphScope::kAll;
  EdgeWeight edge_weight = EdgeWeight::kUniform;
  bool symmetrise = false;
};

class DeviceGraph : public ::testing::TestWithParam<GraphCase> {};

/// Attention under the graph's mask reads all of it: rows, loads, and the transpose.
TEST_P(DeviceGraph, MasksAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const GraphCase& param = GetParam();
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = param.local;
  config.graph.scope = param.scope;
  config.graph.edge_weight = param.edge_weight;
  config.graph.symmetrise = param.symmetrise;
  at::manual_seed(3);
  TokenSet tokens;
  tokens.older_count = 120;
  tokens.newer_count = 130;
  tokens.kinematic_count = 20;
  tokens.workspace = config.data.workspace;
  tokens.positions_m = at::cat(
      {ToPositions(SheetCloud(120, 1)), ToPositions(SheetCloud(130, 2)), 0.2 * at::randn({60, 3})},
      0);
  TensorList inputs = RandomRows(tokens.positions_m.size(0), 16);
  inputs.push_back(at::tensor({1.f, 0.9f, 0.7f, 0.4f}));
  const auto run = [&](const TestDevice* device) {
    TokenSet placed = tokens;
    if (device != nullptr) placed.positions_m = device->Put(tokens.positions_m);
    const CudaBackend* const cuda = device != nullptr ? device->cuda() : nullptr;
    const TokenGraph graph = BindTokenGraph(config, cuda)(placed, 5);
    return ValueAndGradients(
        [&](const TensorList& x) {
          const torch::Tensor weights = at::matmul(graph.mask->loads().to(at::kFloat), x[3]);
          return GrfAttention(x[0], x[1], x[2], weights, graph.mask, {}, cuda);
        },
        device != nullptr ? device->Put(inputs) : inputs);
  };
  const TensorList expected = run(nullptr);
  const TestDevice device;
  ExpectClose(run(&device), expected, kFloatOpTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceGraph,
    ::testing::Values(GraphCase{"Exact", LocalLayer::kGrfExact},
                      GraphCase{"ExactPerTime", LocalLayer::kGrfExact, GraphScope::kPerTime},
                      GraphCase{"ExactExpDistance", LocalLayer::kGrfExact, GraphScope::kAll,
                                EdgeWeight::kExpDistance},
                      GraphCase{"ExactPerTimeExpDistance", LocalLayer::kGrfExact,
                                GraphScope::kPerTime, EdgeWeight::kExpDistance},
                      GraphCase{"ExactSymmetrised", LocalLayer::kGrfExact, GraphScope::kAll,
                                EdgeWeight::kUniform, true},
                      GraphCase{"Sampled", LocalLayer::kGrfSampled},
                      GraphCase{"SampledPerTime", LocalLayer::kGrfSampled, GraphScope::kPerTime},
                      GraphCase{"SampledExpDistance", LocalLayer::kGrfSampled, GraphScope::kAll,
                                EdgeWeight::kExpDistance},
                      GraphCase{"SampledSymmetrised", LocalLayer::kGrfSampled, GraphScope::kAll,
                                EdgeWeight::kUniform, true},
                      GraphCase{"SampledSymmetrisedExpDistance", LocalLayer::kGrfSampled,
                                GraphScope::kAll, EdgeWeight::kExpDistance, true},
                      GraphCase{"SampledSymmetrisedDegrees", LocalLayer::kGrfSampled,
                                GraphScope::kAll, EdgeWeight::kInverseSqrtDegree, true}),
    [](const auto& test) { return test.param.name; });

/// Neighbours of the points that have a place, among themselves; others are their own.
KnnGraph GraphWithoutPlaces(const Cloud& cloud, const std::vector<std::int32_t>& lost) {
  const auto n = static_cast<std::int32_t>(cloud.size() / 3);
  Cloud placed;
  std::vector<std::int32_t> token;
  for (std::int32_t i = 0; i < n; ++i) {
    if (std::find(lost.begin(), lost.end(), i) != lost.end()) continue;
    placed.insert(placed.end(), &cloud[3 * i], &cloud[3 * i] + 3);
    token.push_back(i);
  }
  const KnnGraph part = BruteForceGraph(placed, kNeighbors);
  KnnGraph graph{n, kNeighbors, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    graph.neighbors.insert(graph.neighbors.end(), kNeighbors, i);
  }
  for (std::size_t i = 0; i < part.neighbors.size(); ++i) {
    graph.neighbors[kNeighbors * token[i / kNeighbors] + i % kNeighbors] = token[part.neighbors[i]];
  }
  return graph;
}

TEST(DeviceGrfLayer, LeavesPointsWithoutAPlaceToThemselves) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const InterlacerConfig config = TinyConfig();
  const std::vector<std::int32_t> lost{0, 60, 61, 149};
  Cloud cloud = SheetCloud(150, 4);
  const KnnGraph graph = GraphWithoutPlaces(cloud, lost);
  for (const std::int32_t token : lost) cloud[3 * token + token % 3] = NAN;
  TokenSet tokens;
  tokens.workspace = config.data.workspace;
  tokens.positions_m = ToPositions(cloud);
  const TensorList x = RandomRows(150, 16);
  const auto attend = [](const TensorList& rows, std::shared_ptr<const WalkMask> mask,
                         const CudaBackend* cuda) {
    const torch::Tensor weights = at::matmul(
        mask->loads().to(at::kFloat), at::tensor({1.f, 0.9f, 0.7f, 0.4f}).to(rows[0].device()));
    return GrfAttention(rows[0], rows[1], rows[2], weights, mask, {}, cuda);
  };
  const at::NoGradGuard no_grad;
  const torch::Tensor expected =
      attend(x, std::make_shared<WalkMask>(*BuildWalkLists(graph), kNeighbors, false), nullptr);
  const TestDevice device;
  tokens.positions_m = device.Put(tokens.positions_m);
  const torch::Tensor got =
      attend(device.Put(x), BindTokenGraph(config, device.cuda())(tokens, 5).mask, device.cuda());
  EXPECT_LT(RelativeL2(got, expected), kFloatOpTolerance);
}

TEST(DeviceGradients, AreSummedInOneOrder) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const torch::Tensor rows = at::tensor({2, 0, 2, 2}, at::kLong);
  const auto names = [&](const torch::Tensor& x, const torch::Tensor& index,
                         const CudaBackend* cuda) {
    return SelectRows(x, index, cuda).grad_fn()->name() + " " +
           DoubleSize(x, cuda).grad_fn()->name();
  };
  const torch::Tensor x = at::randn({3, 2, 4, 5}).requires_grad_();
  EXPECT_EQ(names(x, rows, nullptr), "IndexSelectBackward0 UpsampleBilinear2DBackward0");
  const TestDevice device;
  EXPECT_EQ(names(device.Put(x.detach()).requires_grad_(), device.Put(rows), device.cuda()),
            "IndexBackward0 ViewBackward0");
}

struct AnchorCase {
  const char* name;
  int neighbors;
  GraphScope scope = GraphScope::kAll;
};

/// With as many neighbours as a device searches, and one more.
class DeviceAnchors : public ::testing::TestWithParam<AnchorCase> {};

TEST_P(DeviceAnchors, AreTheHosts) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = LocalLayer::kMessagePassing;
  config.network.local.anchor_neighbor_count = GetParam().neighbors;
  config.graph.scope = GetParam().scope;
  TokenSet tokens;
  tokens.older_count = 80;
  tokens.newer_count = 63;
  tokens.kinematic_count = 20;
  tokens.workspace = config.data.workspace;
  tokens.positions_m = ToPositions(SheetCloud(203, 1));
  const AnchorGraph expected = *BindTokenGraph(config, nullptr)(tokens, 5).anchors;
  const TestDevice device;
  tokens.positions_m = device.Put(tokens.positions_m);
  const AnchorGraph got = *BindTokenGraph(config, device.cuda())(tokens, 5).anchors;
  EXPECT_TRUE(AreEqual(got.anchors, expected.anchors));
  EXPECT_TRUE(AreEqual(got.others, expected.others));
  EXPECT_TRUE(AreEqual(got.neighbors, expected.neighbors));
  EXPECT_TRUE(AreEqual(got.closest, expected.closest));
}

INSTANTIATE_TEST_SUITE_P(Neighbors, DeviceAnchors,
                         ::testing::Values(AnchorCase{"8", 8}, AnchorCase{"32", 32},
                                           AnchorCase{"33", 33},
                                           AnchorCase{"8PerTime", 8, GraphScope::kPerTime}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace interlacer::testing
