/// Message passing, which shares work between pairs, against its formula pair by pair.

#include "model/attention/message_passing.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/gradient_check.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kWidth = 12, kHidden = 7, kTokens = 90, kMessageNeighbors = 5;

torch::Tensor OneLayer(const MessagePassing& layer, const std::string& name,
                       const torch::Tensor& x) {
  const auto weights = layer.named_parameters();
  return at::linear(x, weights[name + ".weight"], weights[name + ".bias"]);
}

torch::Tensor Hidden(const MessagePassing& layer, const std::string& name,
                     const std::vector<torch::Tensor>& parts) {
  return at::gelu(OneLayer(layer, name + ".in", at::cat(parts, 0)));
}

torch::Tensor TwoLayers(const MessagePassing& layer, const std::string& name,
                        const std::vector<torch::Tensor>& parts) {
  return OneLayer(layer, name + ".out", Hidden(layer, name, parts));
}

/// The formula of the header, one token after the other.
torch::Tensor TokenByToken(const MessagePassing& layer, double offset_scale_m,
                           const torch::Tensor& h, const TokenGraph& graph) {
  const AnchorGraph& g = *graph.anchors;
  const torch::Tensor x = graph.positions_m.to(h.scalar_type()) / offset_scale_m;
  std::vector<torch::Tensor> out(static_cast<std::size_t>(h.size(0))), updates;
  const auto id = [](const torch::Tensor& ids, std::int64_t at) {
    return ids[at].item<std::int64_t>();
  };
  for (std::int64_t a = 0; a < g.anchors.size(0); ++a) {
    const std::int64_t i = id(g.anchors, a);
    torch::Tensor sum = at::zeros({kWidth}, h.options());
    torch::Tensor total = at::zeros({}, h.options());
    for (int n = 0; n < kMessageNeighbors; ++n) {
      const std::int64_t j = id(g.neighbors[a], n);
      const std::vector<torch::Tensor> pair{h[i], h[j], x[j] - x[i]};
      const torch::Tensor weight =
          at::exp(at::dot(layer.named_parameters()["score"], Hidden(layer, "message", pair)));
      sum = sum + weight * TwoLayers(layer, "message", pair);
      total = total + weight;
    }
    updates.push_back(TwoLayers(layer, "update", {h[i], sum / total}));
    out[static_cast<std::size_t>(i)] = updates.back();
  }
  for (std::int64_t n = 0; n < g.others.size(0); ++n) {
    const std::int64_t o = id(g.others, n), a = id(g.closest, n), i = id(g.anchors, a);
    out[static_cast<std::size_t>(o)] = TwoLayers(
        layer, "follow", {h[o], h[i] + updates[static_cast<std::size_t>(a)], x[i] - x[o]});
  }
  return at::stack(out, 0);
}

class MessagePassingFormula : public ::testing::Test {
 protected:
  MessagePassingFormula() {
    config_ = TinyConfig();
    config_.network.width = kWidth;
    config_.network.local.kind = LocalLayer::kMessagePassing;
    config_.network.local.message_width = kHidden;
    config_.network.local.anchor_neighbor_count = kMessageNeighbors;
    TokenSet tokens;
    tokens.workspace = config_.data.workspace;
    tokens.positions_m = ToPositions(CubeCloud(kTokens, 3));
    tokens.older_count = kTokens / 2;
    tokens.newer_count = kTokens / 2;
    graph_ = BindTokenGraph(config_, nullptr)(tokens, 7);
  }

  MessagePassing MakeLayer(Precision precision, at::ScalarType type) const {
    MessagePassing layer(config_.network, precision);
    const at::NoGradGuard no_grad;
    at::manual_seed(8);
    for (const torch::Tensor& weight : layer.parameters()) {
      weight.copy_(0.4 * at::randn(weight.sizes()));
    }
    layer.to(type);
    return layer;
  }
  static torch::Tensor RandomRows(std::uint64_t seed, at::ScalarType type) {
    at::manual_seed(seed);
    return at::randn({kTokens, kWidth}).to(type);
  }

  InterlacerConfig config_;
  TokenGraph graph_;
};

TEST_F(MessagePassingFormula, HoldsInEveryPrecision) {
  struct Case {
    Precision precision;
    at::ScalarType type;
    double tolerance;
  };
  for (const Case& c : {Case{Precision::kNative, at::kDouble, kDoubleOpTolerance},
                        Case{Precision::kNative, at::kFloat, kFloatOpTolerance},
                        Case{Precision::kBfloat16, at::kFloat, kBfloat16OpTolerance}}) {
    SCOPED_TRACE(c.tolerance);
    MessagePassing layer = MakeLayer(c.precision, c.type);
    TokenGraph graph = graph_;
    graph.positions_m = graph_.positions_m.to(c.type);
    const torch::Tensor got = layer.Forward(RandomRows(9, c.type), graph);
    EXPECT_EQ(got.scalar_type(), c.type);
    layer.to(at::kDouble);
    const torch::Tensor expected = TokenByToken(layer, config_.network.local.offset_scale_m,
                                                RandomRows(9, c.type).to(at::kDouble), graph_);
    EXPECT_LT(RelativeL2(got, expected), c.tolerance);
  }
}

TEST_F(MessagePassingFormula, GivesEveryParameterAndInputItsGradient) {
  MessagePassing layer = MakeLayer(Precision::kNative, at::kDouble);
  TokenGraph graph = graph_;
  graph.positions_m = graph_.positions_m.to(at::kDouble).requires_grad_();
  const torch::Tensor weights_of_sum = RandomRows(10, at::kDouble);
  std::vector<torch::Tensor> inputs{RandomRows(9, at::kDouble).requires_grad_(), graph.positions_m};
  for (const torch::Tensor& parameter : layer.parameters()) inputs.push_back(parameter);
  const auto gradients_of = [&](const torch::Tensor& out) {
    return torch::autograd::grad({(out * weights_of_sum).sum()}, inputs);
  };
  const auto got = gradients_of(layer.Forward(inputs[0], graph));
  const auto expected =
      gradients_of(TokenByToken(layer, config_.network.local.offset_scale_m, inputs[0], graph));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_GT(expected[i].norm().item<double>(), 0) << "input " << i;
    EXPECT_LT(RelativeL2(got[i], expected[i]), kDoubleOpTolerance) << "input " << i;
  }
}

}  // namespace
}  // namespace interlacer::testing
