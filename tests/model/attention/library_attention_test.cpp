/// Mechanisms of the library as layers: equal to their dense way between the projections, and
/// refused where they make no sense on a cloud.

#include "model/attention/library_attention.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/json.h"
#include "model/attention/catalog/catalog.h"
#include "model/runtime/torch_errors.h"
#include "model/runtime/torch_status.h"
#include "tests/model/gradient_check.h"
#include "tests/model/library_layers.h"
#include "tests/model/tiny_scene.h"

namespace interlacer::testing {
namespace {

constexpr int kTokenCount = 60;
/// A function of three projections, a softmax and sums over a graph, in float64.
constexpr double kLayerTolerance = 1e-8;

class LibraryLayerTest : public ::testing::TestWithParam<LibraryLayer> {
 protected:
  LibraryLayerTest() {
    PutLayer(GetParam(), &config_);
    TokenSet tokens;
    tokens.workspace = config_.data.workspace;
    tokens.positions_m = ToPositions(CubeCloud(kTokenCount, 3));
    tokens.older_count = tokens.newer_count = kTokenCount / 2;
    graph_ = BindTokenGraph(config_, nullptr)(tokens, 7);
    graph_.positions_m = graph_.positions_m.to(at::kDouble);
    layer_ =
        std::make_unique<LibraryAttention>(config_.network, GetParam().place, Precision::kNative);
    const at::NoGradGuard no_grad;
    at::manual_seed(8);
    for (const auto& item : layer_->named_parameters()) {
      if (!IsOfMechanism("." + item.key())) {
        item.value().copy_(0.4 * at::randn(item.value().sizes()));
      }
    }
    layer_->to(at::kDouble);
  }

  /// The definition: every pair of tokens, weighed and summed.
  torch::Tensor DenseWay(const torch::Tensor& h) {
    const auto project = [&](const Dense& layer) {
      return at::linear(h, layer.weight, layer.bias);
    };
    attention::AttentionInputs inputs = layer_->InputsOf(
        project(layer_->query()), project(layer_->key()), project(layer_->value()), graph_);
    inputs.parameters = layer_->Learned();
    const torch::Tensor mixed =
        ValueOrThrow(layer_->attention().Run(inputs, attention::Way::kDense));
    const std::int64_t heads = mixed.size(1), width = mixed.size(3);
    std::vector<torch::Tensor> columns;
    for (std::int64_t head = 0; head < heads; ++head) columns.push_back(mixed[0][head]);
    EXPECT_EQ(heads * width, config_.network.width);
    return at::linear(at::cat(columns, 1), layer_->out().weight, layer_->out().bias);
  }

  InterlacerConfig config_ = TinyConfig();
  TokenGraph graph_;
  std::unique_ptr<LibraryAttention> layer_;
};

TEST_P(LibraryLayerTest, IsItsDenseWayBetweenTheProjectionsWithGradients) {
  at::manual_seed(9);
  const torch::Tensor h =
      at::randn({kTokenCount, config_.network.width}, at::kDouble).requires_grad_();
  const torch::Tensor out_weights = at::randn({kTokenCount, config_.network.width}, at::kDouble);
  std::vector<torch::Tensor> inputs{h};
  for (const torch::Tensor& parameter : layer_->parameters()) inputs.push_back(parameter);
  const auto gradients_of = [&](const torch::Tensor& out) {
    return torch::autograd::grad({(out * out_weights).sum()}, inputs, {}, std::nullopt, false,
                                 /*allow_unused=*/true);
  };
  const torch::Tensor got = layer_->Forward(h, graph_), expected = DenseWay(h);
  EXPECT_LT(RelativeL2(got, expected), kLayerTolerance);
  EXPECT_GT(expected.norm().item<double>(), 0);
  const auto got_gradients = gradients_of(got), expected_gradients = gradients_of(expected);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(got_gradients[i].defined(), expected_gradients[i].defined()) << i;
    if (!got_gradients[i].defined()) continue;
    // That of the keys' bias is 0 with softmax scores, which it moves all alike.
    const double scale = std::max(1., expected_gradients[i].norm().item<double>());
    EXPECT_LT((got_gradients[i] - expected_gradients[i]).norm().item<double>(),
              kLayerTolerance * scale)
        << i;
  }
}

/// Weights that have diverged are no argument of whoever trains or predicts with them.
TEST_P(LibraryLayerTest, NumbersThatAreNoneAreLostData) {
  const at::NoGradGuard no_grad;
  layer_->named_parameters()["value.weight"].fill_(std::numeric_limits<double>::infinity());
  const torch::Tensor h = at::ones({kTokenCount, config_.network.width}, at::kDouble);
  const Status status = CatchTorchErrors(
      [&] {
        layer_->Forward(h, graph_);
        return Status();
      },
      "layer");
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
  EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE);
}

TEST_P(LibraryLayerTest, LearnsWhatIsNoRandomDraw) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : layer_->Learned()) {
    EXPECT_TRUE(tensor.requires_grad()) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names, GetParam().learned);
}

TEST_P(LibraryLayerTest, ItsConfigurationSurvivesJson) {
  ASSERT_TRUE(ValidateConfig(config_).ok()) << ValidateConfig(config_).ToString();
  const auto read = ParseConfigJson(ConfigToJson(config_).dump());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->network.global.mechanism.has_value(),
            config_.network.global.mechanism.has_value());
  EXPECT_EQ(ConfigToJson(*read), ConfigToJson(config_));
  const std::string name = "library:" + GetParam().mechanism.name;
  EXPECT_EQ(AttentionVariant(*read),
            GetParam().place == LayerPlace::kGlobal ? "grf_exact+" + name : name + "+linear_relu");
}

INSTANTIATE_TEST_SUITE_P(All, LibraryLayerTest, ::testing::ValuesIn(LibraryLayers()),
                         [](const auto& test) { return std::string(test.param.test_name); });

Status StatusOf(LayerPlace place, const MechanismConfig& mechanism) {
  InterlacerConfig config = TinyConfig();
  PutLayer({"", place, mechanism}, &config);
  return ValidateConfig(config);
}

/// Every mechanism is a layer or is refused at its key, none of them throws.
TEST(LibraryLayers, EveryMechanismFitsOrSaysWhyNot) {
  std::vector<std::string> fitting;
  for (const attention::MechanismInfo& info : attention::Catalog()) {
    SCOPED_TRACE(info.name);
    const Status status = StatusOf(LayerPlace::kLocal, {info.name});
    if (status.ok()) {
      fitting.push_back(info.name);
      continue;
    }
    EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
    EXPECT_TRUE(status.field().starts_with("network.local.mechanism")) << status.ToString();
  }
  const auto fits = [&](const char* name) {
    return std::find(fitting.begin(), fitting.end(), name) != fitting.end();
  };
  for (const char* name : {"grf_sym", "grf_asym", "grf_exact", "rwgnk", "gkat", "gat", "gat_mask",
                           "flt_gauss3d", "favor_pos", "linear_relu", "heat", "gdk"}) {
    EXPECT_TRUE(fits(name)) << name;
  }
  for (const char* name : {"softmax", "softmax_masked", "toeplitz_nd", "tree_any", "packing",
                           "learned_features", "spd_bias"}) {
    EXPECT_FALSE(fits(name)) << name;
  }
}

TEST(LibraryLayers, RefusalsNameTheKey) {
  const auto field = [](const MechanismConfig& mechanism) {
    return StatusOf(LayerPlace::kLocal, mechanism).field();
  };
  const std::string key = "network.local.mechanism";
  EXPECT_EQ(field({"no_such"}), key);
  EXPECT_EQ(field({"rwgnk", R"({"hops": -1})"}), key + ".options.hops");
  EXPECT_EQ(field({"rwgnk", R"({"steps": 2})"}), key + ".options.steps");
  EXPECT_EQ(field({"rwgnk", "{}", 0}), key + ".neighbor_count");
  for (const char* undirected : {"heat", "grf_sym"}) {
    EXPECT_EQ(field({undirected, "{}", 3, false}), key + ".symmetrise") << undirected;
  }
  EXPECT_EQ(field({"gat_mask", R"({"class_tokens": 1})"}), key + ".options.class_tokens");
  EXPECT_EQ(field({"favor_pos", R"({"redraw_every": 9})"}), key + ".options.redraw_every");
  const Status hops = StatusOf(LayerPlace::kLocal, {"rwgnk", R"({"hops": -1})"});
  EXPECT_EQ(hops.metadata().at("got"), "-1");
  EXPECT_EQ(hops.message().rfind(key + ".options.hops: expected ", 0), 0u) << hops.message();
  const std::string deep =
      R"({"base": "small", "network": {"local": {"kind": "mechanism", "mechanism":
                               {"name": "gat", "options": {"a": )" +
      std::string(200000, '[') + std::string(200000, ']') + "}}}}}";
  EXPECT_EQ(ParseConfigJson(deep).status().reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(StatusOf(LayerPlace::kGlobal, {"softmax"}).field(), "network.global.mechanism");
  EXPECT_EQ(ParseConfigJson(R"({"base": "small", "network": {"local": {"kind": "mechanism"}}})")
                .status()
                .field(),
            key);
  EXPECT_EQ(ParseConfigJson(R"({"base": "small", "network": {"local": {"mechanism": {"name": "gat",
                                 "width": 3}, "kind": "mechanism"}}})")
                .status()
                .field(),
            key + ".width");
}

/// Four tokens with every input that there is.
attention::AttentionInputs FourTokens(const std::vector<std::int64_t>& grid,
                                      std::int64_t dimensions) {
  attention::AttentionInputs inputs;
  inputs.q = inputs.k = inputs.v = at::ones({1, 2, 4, 4});
  inputs.grid = grid;
  inputs.positions = at::arange(4 * dimensions, at::kFloat).reshape({4, dimensions});
  inputs.segments = at::zeros({4}, at::kLong);
  inputs.tree.parents = at::arange(-1, 3);
  inputs.mask = at::ones({4, 4});
  inputs.gates = at::full({1, 2, 4}, 0.5f);
  const torch::Tensor next = (at::arange(4) + 1).remainder(4);
  inputs.graph.offsets = 2 * at::arange(5);
  inputs.graph.neighbors = at::stack({next, (next + 2).remainder(4)}, 1).flatten();
  return inputs;
}

/// The default options, and one more for every other value of a flag or word.
std::vector<nlohmann::json> VariantsOf(const attention::MechanismInfo& info) {
  std::vector<nlohmann::json> variants{nlohmann::json::object()};
  for (const attention::OptionSpec& option : info.options) {
    if (option.type == attention::OptionSpec::Type::kFlag) {
      variants.push_back({{option.name, !option.default_value.get<bool>()}});
    }
    for (const std::string& word : option.choices) variants.push_back({{option.name, word}});
  }
  return variants;
}

/// What another seed makes other is a draw, which is not learnt, or one of these first values.
TEST(LibraryLayers, EveryRandomParameterIsADrawOrAFirstValue) {
  const std::set<std::string> first_values{"a_left", "a_right", "center", "m1",
                                           "m2",     "p",       "phi",    "s"};
  std::set<std::string> draws;
  for (const attention::MechanismInfo& info : attention::Catalog()) {
    for (nlohmann::json options : VariantsOf(info)) {
      for (const auto& inputs : {FourTokens({4}, 1), FourTokens({2, 2}, 3)}) {
        const auto with_seed = [&](int seed) -> attention::NamedTensors {
          options["seed"] = seed;
          const auto made = attention::Attention::Make(info, options);
          if (!made.ok()) return {};
          const auto parameters = made->InitialParameters(inputs);
          return parameters.ok() ? *parameters : attention::NamedTensors();
        };
        const auto other = with_seed(2);
        for (const auto& [name, tensor] : with_seed(1)) {
          if (at::equal(tensor, other.at(name))) continue;
          if (IsRandomDraw(name)) draws.insert(name);
          EXPECT_TRUE(IsRandomDraw(name) || first_values.contains(name) ||
                      name.starts_with("weight_"))
              << info.name << options << name;
        }
      }
    }
  }
  const std::set<std::string> all{"mask_omega", "noise",        "omega", "probe",
                                  "projection", "shared_noise", "xi"};
  EXPECT_EQ(draws, all);
}

/// A token that all see: every pair shares it, and all pairs are what a layer must not compute.
TEST(LibraryLayers, TooManyPairsAreAnErrorAndNoArrayOfAll) {
  InterlacerConfig config = TinyConfig();
  PutLayer({"", LayerPlace::kLocal, {"gkat0", R"({"hops": 1})"}}, &config);
  ASSERT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config).ToString();
  LibraryAttention layer(config.network, LayerPlace::kLocal, Precision::kNative);
  constexpr std::int64_t kMany = 12000;
  const torch::Tensor others = at::arange(1, kMany);
  TokenEdges star;
  star.offsets = at::cat({at::zeros({1}, at::kLong), at::arange(kMany) + (kMany - 1)});
  star.neighbors = at::cat({others, at::zeros({kMany - 1}, at::kLong)});
  TokenGraph graph;
  graph.positions_m = at::zeros({kMany, 3});
  graph.local_edges = std::make_shared<TokenEdges>(star);
  const torch::Tensor h = at::ones({kMany, config.network.width});
  try {
    layer.Forward(h, graph);
    ADD_FAILURE() << "no error";
  } catch (const StatusException& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kResourceExhausted) << error.what();
  }
}

}  // namespace
}  // namespace interlacer::testing
