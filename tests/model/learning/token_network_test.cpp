/// Networks of attention layers: padding, parameters, and errors that name their place.

#include "model/learning/token_network.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "model/runtime/torch_status.h"
#include "tests/model/learning/toy_sets.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

const std::vector<std::int64_t> kSome{0, 1, 2, 3, 4};

TokenNetworkConfig Network(std::vector<AttentionLayerConfig> layers) {
  TokenNetworkConfig config;
  config.layers = std::move(layers);
  return config;
}

AttentionLayerConfig Residual(const std::string& mechanism) {
  AttentionLayerConfig layer = ToyLayer(mechanism);
  layer.residual = true;
  layer.feed_forward_width = 16;
  return layer;
}

void ExpectPaddingChangesNothing(ToyKind kind, TokenNetworkConfig config) {
  const ToySet set(kind, LearningTask::kClassification);
  const Batch batch = MakeBatch(set, LearningSplit::kTrain, kSome);
  const Batch padded = MakeBatch(set, LearningSplit::kTrain, kSome, /*padded_length=*/17);
  ASSERT_LT(batch.features.size(1), 17);
  ASSERT_EQ(padded.features.size(1), 17);
  TokenNetwork network(config, set.form(), 3, batch);
  const torch::Tensor out = network.Forward(batch);
  EXPECT_TRUE(at::allclose(network.Forward(padded), out, 1e-5, 1e-6));
  // What is written into the padding does not count either.
  Batch dirty = padded;
  dirty.features = at::where(padded.key_mask.unsqueeze(2) > 0, padded.features, 1000.0);
  if (config.embedding_width > 0) {
    EXPECT_TRUE(at::allclose(network.Forward(dirty), out, 1e-5, 1e-6));
  }
  // Nor the company of other examples; and the outputs are no constants.
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const Batch alone = MakeBatch(set, LearningSplit::kTrain, std::vector<std::int64_t>{i});
    EXPECT_TRUE(at::allclose(network.Forward(alone)[0], out[i], 1e-5, 1e-6)) << i;
  }
  EXPECT_FALSE(at::allclose(out[0], out[1], 1e-3, 1e-3));
}

TEST(TokenNetwork, PaddingChangesNothing) {
  for (const char* mechanism : {"gkat", "gkat0", "gat", "gcn", "sgc", "grf_sym", "softmax"}) {
    SCOPED_TRACE(mechanism);
    ExpectPaddingChangesNothing(ToyKind::kGraph,
                                Network({ToyLayer(mechanism), ToyLayer(mechanism)}));
  }
  for (const char* mechanism : {"softmax", "linear_elu1", "favor_pos", "linear_causal"}) {
    SCOPED_TRACE(mechanism);
    ExpectPaddingChangesNothing(ToyKind::kSequence,
                                Network({ToyLayer(mechanism), ToyLayer(mechanism)}));
    TokenNetworkConfig blocks = Network({Residual(mechanism), Residual(mechanism)});
    blocks.embedding_width = 8;
    ExpectPaddingChangesNothing(ToyKind::kSequence, blocks);
  }
}

TEST(TokenNetwork, HasTheParametersOfThePublishedNetworks) {
  const ToySet set(ToyKind::kGraph, LearningTask::kClassification);
  const Batch probe = MakeBatch(set, LearningSplit::kTrain, kSome);
  // Two inputs in place of five: 2 * 2 * 9 * 3 + 18 * 18 * 3 + 18 * 2 + 2.
  AttentionLayerConfig gkat = ToyLayer("gkat0");
  gkat.head_width = 9;
  gkat.fixed = {"lambda"};
  EXPECT_EQ(TokenNetwork(Network({gkat, gkat}), set.form(), 0, probe).ParameterCount(),
            108 + 972 + 38);
  gkat.fixed = {};
  EXPECT_EQ(TokenNetwork(Network({gkat, gkat}), set.form(), 0, probe).ParameterCount(),
            108 + 972 + 38 + 4);
  // One map for all three and additive scores: 2 * 4 + 8 by head; then 8 * 8 + 16.
  AttentionLayerConfig gat = ToyLayer("gat");
  gat.maps = LayerMaps::kShared;
  EXPECT_EQ(TokenNetwork(Network({gat, gat}), set.form(), 0, probe).ParameterCount(),
            16 + 16 + 64 + 16 + 18);
}

TEST(TokenNetwork, FirstValuesDependOnTheSeedAlone) {
  const ToySet set(ToyKind::kGraph, LearningTask::kClassification);
  const Batch batch = MakeBatch(set, LearningSplit::kTrain, kSome);
  // Random features follow the seed too, unless the options fix theirs.
  const auto out = [&](std::uint64_t seed, const char* options) {
    return TokenNetwork(Network({ToyLayer("gkat", options)}), set.form(), seed, batch)
        .Forward(batch);
  };
  EXPECT_TRUE(at::equal(out(1, "{}"), out(1, "{}")));
  EXPECT_FALSE(at::allclose(out(1, "{}"), out(2, "{}")));
  EXPECT_FALSE(at::equal(out(1, "{}"), out(1, R"({"seed": 99})")));
}

TEST(TokenNetwork, TakesTheWayThatIsAskedFor) {
  const ToySet set(ToyKind::kGraph, LearningTask::kClassification);
  const Batch batch = MakeBatch(set, LearningSplit::kTrain, kSome);
  const auto out = [&](const char* way) {
    AttentionLayerConfig layer = ToyLayer("gkat0");
    layer.way = way;
    return TokenNetwork(Network({layer, layer}), set.form(), 1, batch).Forward(batch);
  };
  EXPECT_TRUE(at::allclose(out("dense"), out("pairs"), 1e-4, 1e-5));
  // Of so few tokens dense is the mechanism's own choice.
  EXPECT_TRUE(at::equal(out(""), out("dense")));
}

TEST(TokenNetwork, NamesWhatDoesNotFit) {
  const ToySet set(ToyKind::kGraph, LearningTask::kClassification);
  const Batch probe = MakeBatch(set, LearningSplit::kTrain, kSome);
  const auto error = [&](AttentionLayerConfig layer) -> std::string {
    try {
      TokenNetwork(Network({ToyLayer("gat"), std::move(layer)}), set.form(), 0, probe);
    } catch (const StatusException& e) {
      return e.status().ToString();
    }
    return "none";
  };
  EXPECT_THAT(error(ToyLayer("other")), HasSubstr("layers[1].mechanism"));
  EXPECT_THAT(error(ToyLayer("gkat", R"({"hops": -1})")), HasSubstr("layers[1].options.hops"));
  EXPECT_THAT(error(ToyLayer("gkat", R"({"hop": 1})")), HasSubstr("layers[1].options.hop"));
  EXPECT_THAT(error(ToyLayer("gkat", R"({"class_tokens": 1})")),
              HasSubstr("layers[1].options.class_tokens"));
  // The set has graphs and no grid.
  EXPECT_THAT(error(ToyLayer("toeplitz_nd")), HasSubstr("layers[1].grid"));
  AttentionLayerConfig layer = ToyLayer("gkat0");
  layer.fixed = {"lamda"};
  EXPECT_THAT(error(layer), HasSubstr("layers[1].fixed"));
  EXPECT_THAT(error(layer), HasSubstr("lambda"));
  layer = ToyLayer("gat");
  layer.way = "fast";
  EXPECT_THAT(error(layer), HasSubstr("layers[1].way"));
  layer.way = "features";  // which gat does not have
  EXPECT_THAT(error(layer), HasSubstr("layers[1].way"));
  layer = ToyLayer("gcn");
  layer.maps = LayerMaps::kNone;
  layer.head_width = 5;
  EXPECT_THAT(error(layer), HasSubstr("layers[1].head_width"));
}

TEST(TokenNetwork, ParsesItsConfigurationAndNamesBadKeys) {
  const auto parse = [](const std::string& text) {
    const auto json = nlohmann::json::parse(text);
    const auto object = JsonObject::Make(json, "network", reason::CONFIG_INVALID);
    return ParseTokenNetwork(*object);
  };
  const std::string text =
      R"({"embedding_width":8,"learned_positions":true,"layers":[{"mechanism":"gkat",)"
      R"("options":{"hops":2},"way":"dense","fixed":["lambda"],"heads":2,"head_width":4,"maps":"none",)"
      R"("residual":true,"feed_forward_width":16}]})";
  const auto network = parse(text);
  ASSERT_TRUE(network.ok()) << network.status().ToString();
  EXPECT_EQ(ToJson(*network).dump(), text);
  const auto field = [&](const std::string& bad) { return parse(bad).status().ToString(); };
  EXPECT_THAT(field(R"({"layers":[]})"), HasSubstr("network.layers"));
  EXPECT_THAT(field(R"({"layer":[]})"), HasSubstr("network.layer"));
  EXPECT_THAT(field(R"({"layers":[{"mechanism":"gkat","heads":0}]})"),
              HasSubstr("network.layers[0].heads: expected 1 to 4096, got 0"));
  EXPECT_THAT(field(R"({"layers":[{"mechanism":"gkat","maps":"two"}]})"),
              HasSubstr("expected separate, shared or none, got two"));
  EXPECT_THAT(field(R"({"layers":[{"mechanism":"gkat","feed_forward_width":4}]})"),
              HasSubstr("network.layers[0].feed_forward_width"));
  EXPECT_THAT(field(R"({"layers":[{"mechanism":"gkat","options":[]}]})"),
              HasSubstr("network.layers[0].options"));
}

}  // namespace
}  // namespace interlacer
