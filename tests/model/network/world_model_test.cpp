#include "model/network/world_model.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/kernels/cpu_features.h"
#include "model/engine/step_engine.h"
#include "model/network/tokens.h"
#include "tests/model/gradient_check.h"
#include "tests/model/library_layers.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kParticles = 256;

struct Variant {
  const char* name;
  LocalLayer local;
  GraphScope scope = GraphScope::kAll;
  EdgeWeight edge_weight = EdgeWeight::kUniform;
};

InterlacerConfig ConfigOf(const Variant& variant) {
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = variant.local;
  config.graph.scope = variant.scope;
  config.graph.edge_weight = variant.edge_weight;
  return config;
}

std::unique_ptr<WorldModel> MakeModel(const InterlacerConfig& config,
                                      DenseDtype dtype = DenseDtype::kFloat32) {
  auto model = std::make_unique<WorldModel>(config, WorldModelOptions{dtype});
  InitializeWeights(model.get(), 3);
  return model;
}

/// The same with random heads, which move particles.
std::unique_ptr<WorldModel> MakeMoving(const InterlacerConfig& config,
                                       DenseDtype dtype = DenseDtype::kFloat32) {
  return MakeMovingModel(config, {dtype});
}

class WorldModelVariants : public ::testing::TestWithParam<Variant> {
 protected:
  InterlacerConfig config_ = ConfigOf(GetParam());
  std::unique_ptr<WorldModel> model_ = MakeModel(config_);
  StepInput input_ = MakeStepInput(kParticles, config_);
};

TEST_P(WorldModelVariants, ZeroHeadsKeepTheCloud) {
  const CloudTensors next = model_->Step(input_);
  EXPECT_TRUE(at::equal(next.positions_m, input_.newer.positions_m));
  EXPECT_TRUE(at::equal(next.features, input_.newer.features));
}

TEST_P(WorldModelVariants, SameBitsTwice) {
  PerturbHeads(model_.get());
  const CloudTensors first = model_->Step(input_), second = model_->Step(input_);
  EXPECT_TRUE(at::equal(first.positions_m, second.positions_m));
  EXPECT_TRUE(at::equal(first.features, second.features));
  EXPECT_FALSE(at::equal(first.positions_m, input_.newer.positions_m));
}

TEST_P(WorldModelVariants, DisplacementsStayWithinTheBound) {
  PerturbHeads(model_.get());
  const torch::Tensor moved = model_->Step(input_).positions_m - input_.newer.positions_m;
  EXPECT_LE(moved.abs().max().item<float>(), config_.network.max_displacement_m);
}

TEST_P(WorldModelVariants, GradientsReachEveryParameterOfTheStep) {
  PerturbHeads(model_.get());
  const CloudTensors next = model_->Step(input_);
  (next.positions_m.square().sum() + next.features.square().sum()).backward();
  for (const auto& item : model_->named_parameters()) {
    if (item.key().rfind("unet.", 0) == 0 || item.key().rfind("radiance_field.", 0) == 0) continue;
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(at::isfinite(item.value().grad()).all().item<bool>()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<float>(), 0) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(All, WorldModelVariants,
                         ::testing::Values(Variant{"GrfExact", LocalLayer::kGrfExact},
                                           Variant{"GrfPerTime", LocalLayer::kGrfExact,
                                                   GraphScope::kPerTime},
                                           Variant{"GrfExpDistance", LocalLayer::kGrfExact,
                                                   GraphScope::kAll, EdgeWeight::kExpDistance},
                                           Variant{"GrfSampled", LocalLayer::kGrfSampled},
                                           Variant{"MessagePassing", LocalLayer::kMessagePassing},
                                           Variant{"Unmasked", LocalLayer::kUnmasked},
                                           Variant{"None", LocalLayer::kNone}),
                         [](const auto& test) { return test.param.name; });

void ExpectFusedIsLayerByLayer(InterlacerConfig config) {
  config.network.width = config.network.local.key_width = 64;  // widths that the kernels take
  const auto model = MakeMoving(config, DenseDtype::kBfloat16);
  const StepInput input = MakeStepInput(kParticles, config);
  const torch::Tensor expected = model->Step(input).positions_m - input.newer.positions_m;
  const StepEngine engine(model.get());
  const CloudTensors got = engine.Step(input);
  EXPECT_LT(RelativeL2(got.positions_m - input.newer.positions_m, expected),
            kBfloat16HostStepTolerance);
  EXPECT_TRUE(at::equal(engine.Step(input).positions_m, got.positions_m));
  if (!HostCpuFeatures().avx512_bf16) {
    GTEST_SKIP() << "compared without fused layers, of which this processor has none";
  }
  const bool has_messages = config.network.local.kind == LocalLayer::kMessagePassing;
  EXPECT_EQ(engine.fused_count(),
            engine.layer_count() - (has_messages ? config.network.block_count : 0));
}

/// With mechanisms of the attention library as layers.
class LibraryModels : public ::testing::TestWithParam<LibraryLayer> {
 protected:
  LibraryModels() {
    config_.network.block_count = 2;
    PutLayer(GetParam(), &config_);
  }
  InterlacerConfig config_ = TinyConfig();
};

TEST_P(LibraryModels, LearnEveryParameterOfTheStepInBothMemoryForms) {
  std::map<std::string, torch::Tensor> gradients[2];
  for (const bool recompute : {false, true}) {
    const auto model = MakeMovingModel(
        config_, {.dense_dtype = DenseDtype::kFloat32, .recompute_blocks = recompute});
    const StepInput input = MakeStepInput(kParticles, config_);
    const CloudTensors next = model->Step(input);
    EXPECT_FALSE(at::equal(next.positions_m, input.newer.positions_m));
    (next.positions_m.square().sum() + next.features.square().sum()).backward();
    gradients[recompute] = ParameterGradients(*model);
    for (const auto& item : model->named_parameters()) {
      if (!item.key().starts_with("interlacer.")) continue;
      const auto found = gradients[recompute].find(item.key());
      ASSERT_NE(found, gradients[recompute].end()) << item.key();
      EXPECT_TRUE(at::isfinite(found->second).all().item<bool>()) << item.key();
    }
  }
  for (const auto& [name, gradient] : gradients[0]) {
    EXPECT_TRUE(at::equal(gradient, gradients[1].at(name))) << name;
  }
}

TEST_P(LibraryModels, FusedInferenceIsTheStepOfTheLayersOneByOne) {
  ExpectFusedIsLayerByLayer(config_);
}

INSTANTIATE_TEST_SUITE_P(All, LibraryModels, ::testing::ValuesIn(LibraryLayers()),
                         [](const auto& test) { return std::string(test.param.test_name); });

/// Steps of the tiny model with another configuration and random heads, on one input.
class MotionGate : public ::testing::Test {
 protected:
  std::unique_ptr<WorldModel> Make(bool has_gate, float min_displacement_m) const {
    InterlacerConfig config = TinyConfig();
    config.network.motion_gate = has_gate;
    config.network.min_displacement_m = min_displacement_m;
    return MakeMoving(config);
  }
  CloudTensors ChangeOf(WorldModel* model) const {
    const CloudTensors next = model->Step(input_);
    return {next.positions_m - input_.newer.positions_m, next.features - input_.newer.features};
  }
  StepInput input_ = MakeStepInput(kParticles, TinyConfig());
};

TEST_F(MotionGate, AnUntrainedModelPredictsNoMotion) {
  InterlacerConfig config = TinyConfig();
  config.network.motion_gate = true;
  const auto model = MakeModel(config);
  EXPECT_EQ(model->named_parameters()["head.gate.bias"].item<float>(), -4);
  const CloudTensors next = model->Step(input_);
  EXPECT_TRUE(at::equal(next.positions_m, input_.newer.positions_m));
  EXPECT_TRUE(at::equal(next.features, input_.newer.features));
  // The gate alone keeps what random heads would move: less than two in a hundred of 25 cm pass.
  PerturbHeads(model.get());
  const at::NoGradGuard no_grad;
  model->named_parameters()["head.gate.weight"].zero_();
  EXPECT_LE(ChangeOf(model.get()).positions_m.abs().max().item<float>(), 0.018 * 0.25);
}

TEST(ContactGuess, AnUntrainedModelTakesHalfOfIt) {
  InterlacerConfig config = TinyConfig();
  config.network.contact_guess = true;
  const StepInput input = MakeStepInput(kParticles, config);
  const torch::Tensor guess_m = ContactGuessOf(input.surface);
  ASSERT_GT(guess_m.abs().max().item<float>(), 0.05f);
  const CloudTensors next = MakeModel(config)->Step(input);
  EXPECT_TRUE(at::allclose(next.positions_m, input.newer.positions_m + 0.5 * guess_m, 0, 1e-6));
  EXPECT_TRUE(at::equal(next.features, input.newer.features));
}

TEST_F(MotionGate, MultipliesBothChangesByOneShareOfEachParticle) {
  const auto gated = Make(true, 0), free = Make(false, 0);
  const at::NoGradGuard no_grad;
  for (auto& item : free->named_parameters()) {
    item.value().copy_(gated->named_parameters()[item.key()]);
  }
  gated->named_parameters()["head.gate.bias"].fill_(0);
  const CloudTensors all = ChangeOf(free.get()), passed = ChangeOf(gated.get());
  const torch::Tensor share =
      (passed.features.norm(2, {1}, true) / all.features.norm(2, {1}, true));
  EXPECT_GT(share.std().item<float>(), 1e-3) << "it differs between particles";
  EXPECT_TRUE(share.gt(0).logical_and(share.lt(1)).all().item<bool>());
  EXPECT_LT(RelativeL2(passed.features, share * all.features), kFloatStepTolerance);
  EXPECT_LT(RelativeL2(passed.positions_m, share * all.positions_m), kFloatStepTolerance);
}

TEST_F(MotionGate, HasGradients) {
  const auto model = Make(true, 0);
  const CloudTensors next = model->Step(input_);
  (next.positions_m.square().sum() + next.features.square().sum()).backward();
  for (const char* name : {"head.gate.weight", "head.gate.bias", "head.position.weight"}) {
    EXPECT_GT(model->named_parameters()[name].grad().abs().max().item<float>(), 0) << name;
  }
}

TEST_F(MotionGate, ShortDisplacementsKeepTheBitsInInference) {
  const auto free = Make(false, 0);
  torch::Tensor lengths_m;
  CloudTensors all;
  {
    const at::NoGradGuard no_grad;
    all = free->Step(input_);
    lengths_m = (all.positions_m - input_.newer.positions_m).norm(2, {1});
  }
  const float limit_m = lengths_m.median().item<float>();
  const auto quiet = Make(false, limit_m);
  {
    const at::NoGradGuard no_grad;
    const CloudTensors next = quiet->Step(input_);
    const torch::Tensor stays = next.positions_m.eq(input_.newer.positions_m).all(1);
    EXPECT_NEAR(static_cast<double>(stays.sum().item<std::int64_t>()), kParticles / 2, 2);
    EXPECT_TRUE(lengths_m.index({stays}).le(1.0001 * limit_m).all().item<bool>());
    EXPECT_TRUE(at::equal(next.positions_m.index({~stays}), all.positions_m.index({~stays})));
    EXPECT_TRUE(at::equal(next.features, all.features)) << "features change with the gate alone";
  }
  // Training sees every displacement.
  EXPECT_LT(RelativeL2(quiet->Step(input_).positions_m, free->Step(input_).positions_m),
            kFloatOpTolerance);
  EXPECT_FALSE(
      quiet->Step(input_).positions_m.eq(input_.newer.positions_m).all(1).any().item<bool>());
}

TEST_F(MotionGate, ADisplacementThatIsNotANumberIsNotShort) {
  const auto model = Make(true, 0.1f);
  const at::NoGradGuard no_grad;
  model->named_parameters()["head.position.bias"].fill_(NAN);
  EXPECT_TRUE(model->Step(input_).positions_m.isnan().all().item<bool>());
}

/// One set of weights for robots with any number of surface points.
TEST(SurfaceModel, StepsWithAnyRobotAndSeesItsMotion) {
  const auto model = MakeMoving(TinyExactConfig());
  for (const int points : {0, 3, 90}) {
    SCOPED_TRACE(points);
    StepInput input = MakeStepInput(kParticles, model->config(), points);
    const torch::Tensor features = model->Step(input).features;
    EXPECT_TRUE(at::isfinite(features).all().item<bool>());
    StepInput other = input;
    other.surface.newer_motion = input.surface.newer_motion + 0.01;
    EXPECT_FALSE(at::equal(model->Step(other).features, features)) << "motion of particles";
    if (points == 0) continue;
    other = input;
    other.surface.normals = -input.surface.normals;
    EXPECT_FALSE(at::equal(model->Step(other).features, features)) << "normals";
    other = input;
    other.surface.is_gripper = 1 - input.surface.is_gripper;
    EXPECT_FALSE(at::equal(model->Step(other).features, features)) << "gripper";
  }
}

TEST(SurfaceModel, GradientsReachEveryParameterOfTheStep) {
  const auto model = MakeMoving(TinyExactConfig());
  const CloudTensors next = model->Step(MakeStepInput(kParticles, model->config(), 40));
  (next.positions_m.square().sum() + next.features.square().sum()).backward();
  for (const auto& item : model->named_parameters()) {
    if (item.key().starts_with("unet.") || item.key().starts_with("radiance_field.")) continue;
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<float>(), 0) << item.key();
  }
}

/// Models that are compared differ in the local layer alone: equal size (2 %), equal first weights.
TEST(WorldModelTest, LocalLayersCompareAtEqualSizeAndStart) {
  for (const char* preset : {"small", "paper"}) {
    const InterlacerConfig config = *PresetConfig(preset);
    WorldModel attention(config, {});
    InitializeWeights(&attention, 7);
    const auto weights = attention.named_parameters();
    for (const char* local : {"message_passing", "unmasked", "none"}) {
      SCOPED_TRACE(std::string(preset) + " " + local);
      WorldModel other(*WithLocalLayer(config, local), {});
      InitializeWeights(&other, 7);
      EXPECT_NEAR(static_cast<double>(other.parameter_count()) / attention.parameter_count(), 1,
                  kComparedSizeTolerance);
      for (const auto& item : other.named_parameters()) {
        if (item.key().find(".local.") != std::string::npos) continue;
        ASSERT_NE(weights.find(item.key()), nullptr) << item.key();
        // Without a local layer the other feed-forward layers are wider.
        if (item.key().find("_ffn.") != std::string::npos && std::string(local) == "none") continue;
        EXPECT_TRUE(at::equal(item.value(), weights[item.key()])) << item.key();
      }
    }
  }
}

TEST(WorldModelTest, PermutedParticlesGivePermutedOutputs) {
  const auto model = MakeMoving(TinyConfig());
  StepInput input = MakeStepInput(kParticles, model->config());
  const CloudTensors expected = model->Step(input);
  const torch::Tensor order = at::randperm(kParticles, at::kLong);
  input.newer = {input.newer.positions_m.index_select(0, order),
                 input.newer.features.index_select(0, order)};
  input.surface.newer_motion = input.surface.newer_motion.index_select(0, order);
  const CloudTensors permuted = model->Step(input);
  EXPECT_LT(RelativeL2(permuted.positions_m, expected.positions_m.index_select(0, order)),
            kFloatOpTolerance);
  EXPECT_LT(RelativeL2(permuted.features, expected.features.index_select(0, order)),
            kFloatOpTolerance);
}

/// At W = 1/3 twenty-seven walkers that repel per prefix enumerate every three-hop walk.
TEST(WorldModelTest, SampledWalksEqualExactLists) {
  InterlacerConfig sampled = TinyConfig();
  sampled.network.local.kind = LocalLayer::kGrfSampled;
  sampled.network.local.sampler = WalkSampler::kRepellingPerPrefix;
  const auto a = MakeMoving(TinyConfig()), b = MakeMoving(sampled);
  const StepInput input = MakeStepInput(kParticles, sampled);
  EXPECT_LT(RelativeL2(b->Step(input).positions_m, a->Step(input).positions_m), 1e-6);
}

TEST(WorldModelTest, OnesWeighEveryPairOfTheListsAlike) {
  const torch::NoGradGuard no_grad;
  const InterlacerConfig config = *WithLocalLayer(TinyConfig(), "grf_ones");
  const auto ones = MakeMoving(config), masked = MakeMoving(TinyConfig());
  const StepInput input = MakeStepInput(kParticles, config);
  const torch::Tensor before = ones->Step(input).positions_m;
  EXPECT_GT((before - masked->Step(input).positions_m).abs().max().item<double>(), 0);
  for (auto& item : ones->named_parameters()) {
    if (item.key().ends_with(".hop_coefficients")) item.value().zero_();
  }
  EXPECT_TRUE(at::equal(ones->Step(input).positions_m, before));
}

TEST(WorldModelTest, SceneWithoutARobot) {
  const auto model = MakeMoving(TinyConfig());
  StepInput input = MakeStepInput(kParticles, model->config());
  const at::NoGradGuard no_grad;
  const torch::Tensor with_robot = model->Step(input).positions_m;
  input.kinematic_points_m = at::empty({3, 0, 3});
  const torch::Tensor got = model->Step(input).positions_m;
  EXPECT_EQ(got.sizes(), input.newer.positions_m.sizes());
  EXPECT_FALSE(at::allclose(got, with_robot));  // the robot was seen before
  // Every particle moves, by no more than the head's bound.
  const torch::Tensor moved_m = (got - input.newer.positions_m).norm(2, 1);
  EXPECT_GT(moved_m.min().item<float>(), 0);
  EXPECT_LT(moved_m.max().item<float>(), 0.25 * std::sqrt(3.0));
}

TEST(WorldModelTest, Bfloat16StaysNearFloat32) {
  const auto exact = MakeMoving(TinyConfig());
  const auto rounded = MakeMoving(TinyConfig(), DenseDtype::kBfloat16);
  const StepInput input = MakeStepInput(kParticles, exact->config());
  const torch::Tensor expected = exact->Step(input).positions_m - input.newer.positions_m;
  const torch::Tensor got = rounded->Step(input).positions_m - input.newer.positions_m;
  EXPECT_LT(RelativeL2(got, expected), kBfloat16HostStepTolerance);
}

class FusedInference : public ::testing::TestWithParam<LocalLayer> {};

TEST_P(FusedInference, IsTheStepOfTheLayersOneByOne) {
  InterlacerConfig config = TinyConfig();
  config.network.block_count = 2;
  config.network.local.kind = GetParam();
  ExpectFusedIsLayerByLayer(config);
}

INSTANTIATE_TEST_SUITE_P(Layers, FusedInference,
                         ::testing::Values(LocalLayer::kGrfExact, LocalLayer::kMessagePassing,
                                           LocalLayer::kUnmasked, LocalLayer::kNone),
                         [](const auto& test) { return std::string(LocalLayerName(test.param)); });

/// Relative difference of a step's displacements in both types.
double Float32Error(const InterlacerConfig& config) {
  const auto model = MakeMoving(config);
  StepInput input = MakeStepInput(kParticles, model->config());
  const torch::Tensor got = model->Step(input).positions_m - input.newer.positions_m;
  model->to(at::kDouble);
  for (torch::Tensor* tensor :
       {&input.older.positions_m, &input.older.features, &input.newer.positions_m,
        &input.newer.features, &input.kinematic_points_m, &input.surface.normals,
        &input.surface.is_gripper, &input.surface.older_motion, &input.surface.newer_motion}) {
    *tensor = tensor->to(at::kDouble);
  }
  return RelativeL2(got, model->Step(input).positions_m - input.newer.positions_m);
}

TEST(WorldModelTest, Float32StepNearFloat64) {
  EXPECT_LT(Float32Error(TinyConfig()), kFloatStepTolerance);
}

TEST(WorldModelTest, AccumulatedGradientsAreThoseOfTheWhole) {
  const auto model = MakeMoving(TinyConfig());
  const StepInput first = MakeStepInput(kParticles, model->config());
  StepInput second = first;
  second.newer = SheetTensors(kParticles, model->config().encoder.feature_width, 21);
  const auto loss = [&](const StepInput& input) {
    return model->Step(input).positions_m.square().mean();
  };
  ((loss(first) + loss(second)) / 2).backward();
  std::vector<torch::Tensor> whole;
  for (torch::Tensor& parameter : model->parameters()) {
    whole.push_back(parameter.grad().defined() ? parameter.grad().clone() : torch::Tensor());
  }
  model->zero_grad();
  (loss(first) / 2).backward();
  (loss(second) / 2).backward();
  std::size_t i = 0;
  for (torch::Tensor& parameter : model->parameters()) {
    if (whole[i].defined()) {
      EXPECT_LT(RelativeL2(parameter.grad(), whole[i]), kFloatOpTolerance);
    }
    ++i;
  }
}

class RecomputeTest : public ::testing::TestWithParam<LocalLayer> {};

TEST_P(RecomputeTest, GivesTheBitsOfStoredActivations) {
  InterlacerConfig config = TinyConfig();
  config.network.block_count = 2;
  config.network.local.kind = GetParam();
  std::vector<torch::Tensor> gradients[2];
  torch::Tensor positions[2];
  for (const bool recompute : {false, true}) {
    const auto model = MakeMovingModel(
        config, {.dense_dtype = DenseDtype::kFloat32, .recompute_blocks = recompute});
    StepInput input = MakeStepInput(kParticles, config);
    input.newer.positions_m.requires_grad_();
    positions[recompute] = model->Step(input).positions_m;
    positions[recompute].square().sum().backward();
    gradients[recompute].push_back(input.newer.positions_m.grad());
    for (const torch::Tensor& parameter : model->parameters()) {
      gradients[recompute].push_back(parameter.grad());
    }
  }
  EXPECT_TRUE(at::equal(positions[0], positions[1]));
  ASSERT_EQ(gradients[0].size(), gradients[1].size());
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    ASSERT_EQ(gradients[0][i].defined(), gradients[1][i].defined());
    if (!gradients[0][i].defined()) continue;
    EXPECT_TRUE(at::equal(gradients[0][i], gradients[1][i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, RecomputeTest,
                         ::testing::Values(LocalLayer::kGrfExact, LocalLayer::kMessagePassing),
                         [](const auto& test) { return std::string(LocalLayerName(test.param)); });

TEST(WorldModelTest, WeightsDependOnTheSeedAlone) {
  const auto a = MakeModel(TinyConfig()), b = MakeModel(TinyConfig());
  const auto others = b->named_parameters();
  for (const auto& item : a->named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), others[item.key()])) << item.key();
  }
  InitializeWeights(b.get(), 4);
  EXPECT_FALSE(at::equal(a->named_parameters()["unet.last.weight"],
                         b->named_parameters()["unet.last.weight"]));
}

TEST(WorldModelTest, InitialWeightsHaveTheStatedSpread) {
  InterlacerConfig config = TinyConfig();
  config.network.width = 128;
  config.network.local.key_width = 128;
  const auto model = MakeModel(config);
  const torch::Tensor weight = model->named_parameters()["interlacer.block0.global_ffn.in.weight"];
  const double bound = 2 / std::sqrt(128.0);
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_NEAR(weight.mean().item<double>(), 0, 0.01 * bound);
  // A normal truncated at two deviations keeps 0.880 of its deviation.
  EXPECT_NEAR(weight.std().item<double>(), 0.880 / std::sqrt(128.0), 0.01 / std::sqrt(128.0));
}

TEST(WorldModelTest, DecayLeavesBiasesNormsAndCoefficientsAlone) {
  EXPECT_TRUE(HasWeightDecay("interlacer.block0.local.query.weight"));
  EXPECT_FALSE(HasWeightDecay("interlacer.block0.local.query.bias"));
  EXPECT_FALSE(HasWeightDecay("interlacer.block0.local.hop_coefficients"));
  EXPECT_FALSE(HasWeightDecay("interlacer.last_norm.scale"));
}

TEST(WorldModelTest, ParameterCountsOfThePresets) {
  const auto count = [](std::string_view preset, const char* prefix) {
    const WorldModel model(*PresetConfig(preset));
    std::int64_t sum = 0;
    for (const auto& item : model.named_parameters()) {
      if (item.key().rfind(prefix, 0) == 0) sum += item.value().numel();
    }
    return static_cast<double>(sum);
  };
  EXPECT_NEAR(count("paper", "unet."), 2.3e6, 0.1e6);
  EXPECT_NEAR(count("paper", "interlacer."), 1.6e6, 0.1e6);
  EXPECT_NEAR(count("paper", "radiance_field."), 26e3, 1e3);
}

TEST(UnetTest, KeepsOddSizes) {
  const auto model = MakeModel(TinyConfig());
  for (const auto& size : {std::pair{48, 64}, std::pair{7, 5}, std::pair{1, 1}}) {
    const torch::Tensor features = model->EncodeImages(at::rand({2, 3, size.first, size.second}));
    EXPECT_EQ(features.sizes(), (at::IntArrayRef{2, 16, size.first, size.second}));
    // Values, not zeros of a path that was lost: they follow the image.
    const torch::Tensor other = model->EncodeImages(at::rand({2, 3, size.first, size.second}));
    EXPECT_GT((features - other).abs().max().item<float>(), 1e-3f);
    EXPECT_LT(features.abs().max().item<float>(), 1e3f);
  }
}

TEST(UnetTest, ColourSkipAddsALinearMapOfEachPixel) {
  InterlacerConfig config = TinyConfig();
  config.encoder.color_skip = false;
  const auto plain = MakeModel(config);
  config.encoder.color_skip = true;
  const auto skipping = MakeModel(config);
  const at::NoGradGuard no_grad;
  const auto parameters = skipping->named_parameters();
  const torch::Tensor weight = parameters["unet.color.weight"].flatten(1);
  const torch::Tensor bias = parameters["unet.color.bias"];
  bias.copy_(at::rand_like(bias));
  // A size that the levels do not divide: the skip must not see the padding.
  const torch::Tensor images = at::rand({2, 3, 7, 5});
  const torch::Tensor added = skipping->EncodeImages(images) - plain->EncodeImages(images);
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 5; ++x) {
      const torch::Tensor color = images.select(3, x).select(2, y)[1];
      const torch::Tensor expected = weight.mv(2 * color - 1) + bias;
      EXPECT_TRUE(at::allclose(added.select(3, x).select(2, y)[1], expected, 1e-4, 1e-5));
    }
  }
}

TEST(UnetTest, ImagesOfABatchDoNotMix) {
  const auto model = MakeModel(TinyConfig());
  const at::NoGradGuard no_grad;
  const torch::Tensor images = at::rand({3, 3, 24, 32});
  const torch::Tensor together = model->EncodeImages(images);
  EXPECT_LT(RelativeL2(model->EncodeImages(images.narrow(0, 1, 1)), together.narrow(0, 1, 1)),
            kFloatOpTolerance);
}

}  // namespace
}  // namespace interlacer::testing
