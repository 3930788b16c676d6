#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/json.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

class PresetTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(PresetTest, IsValidAndSurvivesJson) {
  const auto config = Must(PresetConfig(GetParam()));
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config).ToString();
  const auto json = ConfigToJson(config);
  const auto read = Must(ParseConfigJson(json.dump()));
  EXPECT_EQ(ConfigToJson(read), json);
  EXPECT_EQ(read.encoder, config.encoder);
  EXPECT_EQ(read.network, config.network);
  EXPECT_EQ(read.renderer.kernel_radii_m, config.renderer.kernel_radii_m);
  EXPECT_EQ(read.renderer.kernel_bandwidths_m, config.renderer.kernel_bandwidths_m);
}

INSTANTIATE_TEST_SUITE_P(All, PresetTest, ::testing::ValuesIn(PresetNames()),
                         [](const auto& test) { return std::string(test.param); });

TEST(ConfigTest, TokenCountsOfTheShippedModel) {
  const InterlacerConfig config = *PresetConfig("paper");
  EXPECT_EQ(config.data.particle_count, 32768);
  EXPECT_EQ(FieldInputWidth(config.renderer), 68);
  EXPECT_EQ(AttentionVariant(config), "grf_exact+linear_relu");
}

TEST(ConfigTest, UnsetKeysComeFromTheBase) {
  const auto config = Must(ParseConfigJson(R"({"base": "small", "network": {"block_count": 1}})"));
  EXPECT_EQ(config.network.block_count, 1);
  EXPECT_EQ(config.network.width, 64);
  EXPECT_EQ(config.data.particle_count, 8192);
}

/// Checkpoints hold what differed from nothing when they were written, not from today's presets.
TEST(ConfigTest, WithoutABaseUnsetKeysKeepTheirFirstMeaning) {
  const auto stored =
      Must(ParseConfigJson(R"({"name": "earlier", "tokens": {"fourier_octaves": 6}})"));
  EXPECT_EQ(stored.robot_motion, RobotMotion::kLearned);
  EXPECT_EQ(stored.tokens.displacement_scale, 4);
  EXPECT_FALSE(stored.encoder.color_skip);
  EXPECT_EQ(stored.graph.scope, GraphScope::kAll);
}

TEST(ConfigTest, AColourSkipSurvivesJson) {
  const auto config =
      Must(ParseConfigJson(R"({"base": "small", "encoder": {"color_skip": true}})"));
  EXPECT_TRUE(config.encoder.color_skip);
  EXPECT_EQ(ParseConfigJson(ConfigToJson(config).dump())->encoder, config.encoder);
}

TEST(ConfigTest, AGraphIndexSurvivesJsonAndTheGridIsNotWritten) {
  const InterlacerConfig grid = *PresetConfig("small");
  EXPECT_EQ(grid.graph.index, KnnBackend::kGrid);
  EXPECT_FALSE(ConfigToJson(grid)["graph"].contains("index"));
  EXPECT_TRUE(ParseConfigJson(R"({"graph": {"index": "grid"}})").ok());
  for (const KnnBackend index : {KnnBackend::kFaissFlat, KnnBackend::kFaissIvf}) {
    InterlacerConfig config = grid;
    config.graph.index = index;
    EXPECT_EQ(ConfigToJson(config)["graph"]["index"], KnnBackendName(index));
    const auto read = ParseConfigJson(ConfigToJson(config).dump());
    if (KnnBackendAvailable(index)) {
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(read->graph, config.graph);
    } else {
      EXPECT_EQ(read.status().reason(), reason::FEATURE_NOT_BUILT);
      EXPECT_EQ(read.status().field(), "graph.index");
    }
  }
}

TEST(ConfigTest, AnOutlierFilterSurvivesJsonAndIsOffByDefault) {
  for (const std::string_view preset : PresetNames()) {
    EXPECT_FALSE(PresetConfig(preset)->lifting.outlier_filter.has_value()) << preset;
    EXPECT_FALSE(ConfigToJson(*PresetConfig(preset)).contains("lifting")) << preset;
  }
  EXPECT_FALSE(ParseConfigJson(R"({"lifting": {}})")->lifting.outlier_filter.has_value());
  for (const char* text : {R"({"kind": "statistical", "neighbor_count": 20, "std_ratio": 1.5})",
                           R"({"kind": "radius", "neighbor_count": 4, "radius_m": 0.01})"}) {
    const auto config =
        ParseConfigJson(R"({"lifting": {"outlier_filter": )" + std::string(text) + "}}");
    if (!OutlierFilterAvailable()) {
      EXPECT_EQ(config.status().reason(), reason::FEATURE_NOT_BUILT);
      EXPECT_EQ(config.status().field(), "lifting.outlier_filter");
      continue;
    }
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(ConfigToJson(*config)["lifting"]["outlier_filter"],
              nlohmann::ordered_json::parse(text));
  }
}

TEST(ConfigTest, InPresetsTheRobotMovesExactlyAndTheRestBehindAGate) {
  for (const std::string_view preset : PresetNames()) {
    const InterlacerConfig config = *PresetConfig(preset);
    EXPECT_EQ(config.robot_motion, RobotMotion::kKinematic) << preset;
    EXPECT_EQ(config.graph.scope, GraphScope::kPerTime) << preset;
    const auto json = ConfigToJson(config);
    EXPECT_EQ(json["network"]["motion_gate"], true) << preset;
    EXPECT_EQ(json["network"]["min_displacement_m"], 0.001) << preset;
    EXPECT_EQ(ParseConfigJson(json.dump())->tokens, config.tokens) << preset;
  }
}

/// Weights of such a configuration fit, whatever its unused windows were.
TEST(ConfigTest, AFormerConfigurationWithTokensOfTodayIsRead) {
  const auto config = Must(ParseConfigJson(
      R"({"tokens": {"fourier_octaves": 6, "robot": "surface_points", "kinematic_context": false,
          "kinematic_context_bandwidths_m": [0.8], "displacement_scale": 100}})"));
  EXPECT_EQ(config.tokens.fourier_octaves, 6);
  EXPECT_FALSE(ConfigToJson(config)["tokens"].contains("robot"));
}

TEST(ConfigTest, AContactGuessSurvivesJsonAndNeedsARobotThatMovesExactly) {
  EXPECT_FALSE(ConfigToJson(InterlacerConfig())["network"].contains("contact_guess"));
  const auto config =
      Must(ParseConfigJson(R"({"robot_motion": "kinematic", "network": {"contact_guess": true}})"));
  EXPECT_TRUE(config.network.contact_guess);
  EXPECT_TRUE(ParseConfigJson(ConfigToJson(config).dump())->network.contact_guess);
  const Status learned = ParseConfigJson(R"({"network": {"contact_guess": true}})").status();
  EXPECT_EQ(learned.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(learned.field(), "network.contact_guess");
}

TEST(ConfigTest, PointsOfAGuessSurviveJsonAndNeedAGuess) {
  const auto config =
      Must(ParseConfigJson(R"({"robot_motion": "kinematic", "network": {"contact_guess": true},
                          "lifting": {"contact_point_count": 32768}})"));
  EXPECT_EQ(config.lifting.contact_point_count, 32768);
  EXPECT_EQ(ParseConfigJson(ConfigToJson(config).dump())->lifting, config.lifting);
  const Status alone = ParseConfigJson(R"({"lifting": {"contact_point_count": 32768}})").status();
  EXPECT_EQ(alone.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(alone.field(), "lifting.contact_point_count");
  EXPECT_FALSE(ConfigToJson(InterlacerConfig())["lifting"].contains("contact_point_count"));
  InterlacerConfig many = config;
  for (const int count : {-1, 262145}) {
    many.lifting.contact_point_count = count;
    EXPECT_EQ(ValidateConfig(many).field(), "lifting.contact_point_count") << count;
  }
}

TEST(ConfigTest, RobotMotionAndAttachmentSurviveJsonAndAreNotWrittenByDefault) {
  EXPECT_FALSE(ConfigToJson(InterlacerConfig()).contains("robot_motion"));
  EXPECT_EQ(ParseConfigJson("{}")->robot_motion, RobotMotion::kLearned);
  const auto config = Must(ParseConfigJson(
      R"({"robot_motion": "kinematic", "lifting": {"attach_finger_radius_m": 0.005}})"));
  EXPECT_EQ(config.robot_motion, RobotMotion::kKinematic);
  const auto again = ParseConfigJson(ConfigToJson(config).dump());
  EXPECT_EQ(again->robot_motion, RobotMotion::kKinematic);
  EXPECT_EQ(again->lifting, config.lifting);
  EXPECT_EQ(again->lifting.attach.finger_radius_m, 0.005);
}

struct Refusal {
  const char* name;
  const char* json;
  const char* field;
};

TEST(ConfigTest, AnotherLocalLayerByName) {
  const auto other = Must(WithLocalLayer(*PresetConfig("small"), "message_passing"));
  EXPECT_EQ(other.network.local.kind, LocalLayer::kMessagePassing);
  const auto ones = Must(WithLocalLayer(*PresetConfig("small"), "grf_ones"));
  EXPECT_EQ(ones.network.local.kind, LocalLayer::kGrfExact);
  EXPECT_EQ(AttentionVariant(ones), "grf_ones+linear_relu");
  EXPECT_EQ(ParseConfigJson(ConfigToJson(ones).dump())->network.local, ones.network.local);
  EXPECT_EQ(AttentionVariant(Must(WithLocalLayer(ones, "grf_exact"))), "grf_exact+linear_relu");
  const Status wrong = WithLocalLayer(*PresetConfig("small"), "softmax").status();
  EXPECT_EQ(wrong.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(wrong.field(), "network.local.kind");
}

TEST(ConfigTest, ALayerByNameLeavesNothingOfAMechanism) {
  InterlacerConfig config = *PresetConfig("small");
  LocalLayerConfig& local = config.network.local;
  local.kind = LocalLayer::kMechanism;
  local.head_count = 4;
  local.mechanism = MechanismConfig{"rwgnk"};
  for (const auto& [kind, name] : kLocalLayers) {
    if (kind == LocalLayer::kMechanism) continue;
    const auto other = Must(WithLocalLayer(config, name));
    EXPECT_TRUE(ValidateConfig(other).ok()) << name << ": " << ValidateConfig(other).ToString();
    EXPECT_EQ(other.network.local, Must(WithLocalLayer(*PresetConfig("small"), name)).network.local)
        << name;
  }
}

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesTheKey) {
  const Status config = ParseConfigJson(GetParam().json).status();
  EXPECT_EQ(config.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(config.reason(), "CONFIG_INVALID");
  EXPECT_THAT(config.ToString(), ::testing::HasSubstr(GetParam().field));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    ::testing::Values(
        Refusal{"NoJson", "{", "config.json"},
        Refusal{"FormerTokensOfLimbs", R"({"tokens": {"limb_rings": 6}})", "limb_rings"},
        Refusal{"FormerTokensOfBodies", R"({"tokens": {"robot": "limbs"}})",
                "tokens.robot: expected surface_points"},
        Refusal{"UnknownRobotMotion", R"({"robot_motion": "ballistic"})", "robot_motion"},
        Refusal{"FormerWindows", R"({"tokens": {"kinematic_context": true}})",
                "tokens.kinematic_context"},
        Refusal{"DeadZoneOverAllMotion", R"({"network": {"min_displacement_m": 0.3}})",
                "network.min_displacement_m"},
        Refusal{"NothingIsAttached", R"({"lifting": {"attach_radius_m": 0}})",
                "lifting.attach_radius_m"},
        Refusal{"UnknownKey", R"({"netwrok": {}})", "netwrok"},
        Refusal{"UnknownNestedKey", R"({"network": {"local": {"kernel": 1}}})", "kernel"},
        Refusal{"WrongType", R"({"network": {"width": "wide"}})", "network.width"},
        Refusal{"SymmetriseWithoutWalks",
                R"({"graph": {"symmetrise": true}, "network": {"local": {"kind": "none"}}})",
                "graph.symmetrise"},
        Refusal{"UnknownWord", R"({"network": {"local": {"kind": "magic"}}})", "kind"},
        Refusal{"PairsOfAnOddNumberOfWalks",
                R"({"network": {"local": {"kind": "grf_sampled", "sampler": "antithetic"}}})",
                "network.local.walk_count: expected an even number for the sampler antithetic, "
                "got 27"},
        Refusal{"UnknownIndex", R"({"graph": {"index": "kd_tree"}})",
                "graph.index: expected grid, faiss_flat, faiss_ivf, got kd_tree"},
        Refusal{"UnknownOutlierFilter", R"({"lifting": {"outlier_filter": {"kind": "median"}}})",
                "lifting.outlier_filter.kind"},
        Refusal{"RadiusOfAStatisticalFilter",
                R"({"lifting": {"outlier_filter": {"kind": "statistical", "radius_m": 0.1}}})",
                "lifting.outlier_filter.radius_m"},
        Refusal{"NoNeighboursToJudgeBy",
                R"({"lifting": {"outlier_filter": {"neighbor_count": 0}}})",
                "lifting.outlier_filter.neighbor_count"},
        Refusal{"NoSpreadToJudgeBy", R"({"lifting": {"outlier_filter": {"std_ratio": 0}}})",
                "lifting.outlier_filter.std_ratio"},
        Refusal{"UnknownBase", R"({"base": "huge"})", "huge"},
        Refusal{"HeadsDoNotDivide", R"({"network": {"global": {"head_count": 3}}})", "head_count"},
        Refusal{"EmptyBox", R"({"data": {"workspace": {"min_m": [0, 0, 0], "max_m": [0, 0, 0]}}})",
                "workspace"},
        Refusal{"NoNormGroups", R"({"encoder": {"norm_group_count": 0}})",
                "encoder.norm_group_count: expected 1..64, got 0"},
        Refusal{"WidthsBeyond32Bits", R"({"encoder": {"widths": [4294967328, 64, 128]}})",
                "encoder.widths: expected integers of 32 bits, got 4294967328"},
        Refusal{"RadiiBeyondFloat", R"({"renderer": {"kernel_radii_m": [0, 1e39, 0.02, 0.05]}})",
                "kernel_radii_m[1]: expected a finite length"},
        Refusal{"TooManyParticles", R"({"data": {"particle_count": 1000000000}})",
                "particle_count"},
        Refusal{"NearBehindFar", R"({"renderer": {"near_m": 3}})", "near"}),
    [](const auto& test) { return test.param.name; });

TEST(Config, WalksInPairsAreEvenWhereTheyAreDrawn) {
  InterlacerConfig config;
  LocalLayerConfig& local = config.network.local;
  local.sampler = WalkSampler::kAntithetic;
  local.walk_count = 27;
  EXPECT_TRUE(ValidateConfig(config).ok()) << "enumerated walks";
  local.kind = LocalLayer::kGrfSampled;
  EXPECT_EQ(ValidateConfig(config).field(), "network.local.walk_count");
  local.walk_count = 28;
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config).ToString();
  local.walk_count = 27;
  local.sampler = WalkSampler::kRepelling;
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config).ToString();
}

TEST(Config, TheLocalLayerLooksForItsOwnNumberOfNeighbors) {
  InterlacerConfig config;
  config.graph.neighbor_count = 5;
  LocalLayerConfig& local = config.network.local;
  local.anchor_neighbor_count = 7;
  MechanismConfig mechanism{"rwgnk"};
  mechanism.neighbor_count = 9;
  for (const auto& [kind, expected] :
       {std::pair{LocalLayer::kGrfExact, 5}, std::pair{LocalLayer::kGrfSampled, 5},
        std::pair{LocalLayer::kMessagePassing, 7}, std::pair{LocalLayer::kUnmasked, 0},
        std::pair{LocalLayer::kNone, 0}, std::pair{LocalLayer::kMechanism, 9}}) {
    local.kind = kind;
    if (kind == LocalLayer::kMechanism) local.mechanism = mechanism;
    EXPECT_EQ(LocalNeighborCount(config), expected) << LocalLayerName(kind);
  }
}

}  // namespace
}  // namespace interlacer
