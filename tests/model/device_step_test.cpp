/// Whole model steps on a device (tests/model/test_device.h) against the host's.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "model/engine/step_engine.h"
#include "model/runtime/torch_status.h"
#include "tests/model/gradient_check.h"
#include "tests/model/operation_count.h"
#include "tests/model/test_device.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kParticles = 200;

struct Variant {
  const char* name;
  LocalLayer local;
  GraphScope scope = GraphScope::kAll;
  bool recompute = false;
  int key_width = 16;
  int width = 32;
  int blocks = 1;
  bool guesses = false;
};

std::unique_ptr<WorldModel> MakeModel(const Variant& variant, DenseDtype dtype) {
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = variant.local;
  config.graph.scope = variant.scope;
  config.network.local.key_width = variant.key_width;
  config.network.width = variant.width;
  config.network.block_count = variant.blocks;
  config.network.contact_guess = variant.guesses;
  return MakeMovingModel(config, {.dense_dtype = dtype, .recompute_blocks = variant.recompute});
}

/// What moved, so that the tolerance is one of the prediction and not of the positions.
torch::Tensor Change(WorldModel* model, const StepInput& input) {
  const CloudTensors next =
      at::GradMode::is_enabled() ? model->Step(input) : StepEngine(model).Step(input);
  return at::cat(
      {(next.positions_m - input.newer.positions_m) / model->config().network.max_displacement_m,
       next.features - input.newer.features},
      1);
}

/// The same on the device, to which the model moves.
torch::Tensor Change(WorldModel* model, const StepInput& input, const TestDevice& device) {
  device.Place(model);
  return Change(model, device.Put(input));
}

/// The device predicts what the host does in float32, and the same bits again.
void ExpectPredictsAsTheHost(const Variant& variant, DenseDtype dtype, double tolerance) {
  const auto model = MakeModel(variant, DenseDtype::kFloat32);
  const auto there = MakeModel(variant, dtype);
  const StepInput input = MakeStepInput(kParticles, model->config());
  const at::NoGradGuard no_grad;
  const torch::Tensor expected = Change(model.get(), input);
  const TestDevice device;
  const torch::Tensor got = Change(there.get(), input, device);
  EXPECT_LT(RelativeL2(got, expected), tolerance);
  EXPECT_TRUE(AreEqual(got, Change(there.get(), input, device)));
}

class DeviceStep : public ::testing::TestWithParam<Variant> {};

TEST_P(DeviceStep, PredictsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  ExpectPredictsAsTheHost(GetParam(), DenseDtype::kFloat32, kFloatStepTolerance);
}

TEST_P(DeviceStep, HasTheGradientsOfTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const auto model = MakeModel(GetParam(), DenseDtype::kFloat32);
  const StepInput host_input = MakeStepInput(kParticles, model->config());
  const auto gradients = [&](StepInput input) {
    model->zero_grad();
    input.newer.features = input.newer.features.detach().requires_grad_();
    Change(model.get(), input).square().sum().backward();
    auto result = ParameterGradients(*model);
    result["newer.features"] = input.newer.features.grad().clone();
    return result;
  };
  const auto expected = gradients(host_input);
  const TestDevice device;
  device.Place(model.get());
  const auto got = gradients(device.Put(host_input));
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, gradient] : expected) {
    EXPECT_LT(RelativeL2(got.at(name), gradient), kFloatGradientTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceStep,
    ::testing::Values(Variant{"GrfExact", LocalLayer::kGrfExact},
                      Variant{"GrfPerTime", LocalLayer::kGrfExact, GraphScope::kPerTime},
                      Variant{"GrfRecomputed", LocalLayer::kGrfExact, GraphScope::kAll, true},
                      Variant{"GrfSampled", LocalLayer::kGrfSampled},
                      Variant{"MessagePassing", LocalLayer::kMessagePassing},
                      Variant{"MessagePassingPerTime", LocalLayer::kMessagePassing,
                              GraphScope::kPerTime},
                      Variant{"Unmasked", LocalLayer::kUnmasked},
                      Variant{"None", LocalLayer::kNone},
                      Variant{"ContactGuess", LocalLayer::kGrfExact, GraphScope::kPerTime, false,
                              64, 64, 1, true}),
    [](const auto& test) { return test.param.name; });

/// Layers that read bfloat16 in inference must not do so in one of the two runs of a block.
class DeviceStepRecomputed : public ::testing::TestWithParam<Variant> {};

TEST_P(DeviceStepRecomputed, HasTheBitsOfKeptLayers) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const TestDevice device;
  std::vector<torch::Tensor> results[2];
  for (const bool recompute : {false, true}) {
    Variant variant = GetParam();
    variant.recompute = recompute;
    const auto model = MakeModel(variant, DenseDtype::kBfloat16);
    const torch::Tensor change =
        Change(model.get(), MakeStepInput(kParticles, model->config()), device);
    results[recompute].push_back(change.detach());
    change.square().sum().backward();
    for (const torch::Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) results[recompute].push_back(parameter.grad());
    }
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  EXPECT_TRUE(AreEqual(results[0][0], results[1][0]));
  for (std::size_t i = 1; i < results[0].size(); ++i) {
    EXPECT_LE(RelativeL2(results[0][i], results[1][i]), device.gradient_order_tolerance()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceStepRecomputed,
    ::testing::Values(Variant{"Apart", LocalLayer::kGrfExact},
                      Variant{"Packed", LocalLayer::kGrfExact, GraphScope::kAll, false, 32},
                      Variant{"Fused", LocalLayer::kGrfExact, GraphScope::kAll, false, 64, 64, 2},
                      Variant{"FusedUnmasked", LocalLayer::kUnmasked, GraphScope::kAll, false, 64,
                              64}),
    [](const auto& test) { return test.param.name; });

class DeviceStepBfloat16 : public ::testing::TestWithParam<Variant> {};

TEST_P(DeviceStepBfloat16, PredictsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  ExpectPredictsAsTheHost(GetParam(), DenseDtype::kBfloat16, kBfloat16AgainstFloatStepTolerance);
}

/// Width 32 goes layer by layer: keys narrower than values are read apart from them, others with
/// them. Wider rows go through fused layers where keys are as wide as values; yet wider ones, which
/// have no graph attention, go through torch's operations.
INSTANTIATE_TEST_SUITE_P(
    All, DeviceStepBfloat16,
    ::testing::Values(
        Variant{"Apart", LocalLayer::kGrfExact},
        Variant{"Packed", LocalLayer::kGrfExact, GraphScope::kAll, false, 32},
        Variant{"Fused", LocalLayer::kGrfExact, GraphScope::kAll, false, 64, 64, 2},
        Variant{"FusedWide", LocalLayer::kGrfExact, GraphScope::kPerTime, false, 128, 128},
        Variant{"FusedNarrowKeys", LocalLayer::kGrfExact, GraphScope::kAll, false, 32, 64},
        Variant{"FusedSampled", LocalLayer::kGrfSampled, GraphScope::kAll, false, 64, 64},
        Variant{"FusedMessagePassing", LocalLayer::kMessagePassing, GraphScope::kAll, false, 64,
                64},
        Variant{"FusedUnmasked", LocalLayer::kUnmasked, GraphScope::kAll, false, 64, 64},
        Variant{"FusedNone", LocalLayer::kNone, GraphScope::kAll, false, 64, 64},
        Variant{"WiderThanFused", LocalLayer::kNone, GraphScope::kAll, false, 16, 320}),
    [](const auto& test) { return test.param.name; });

/// Its head is one kernel, without gradients.
TEST(DeviceStepWide, PredictsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  ExpectPredictsAsTheHost({"", LocalLayer::kGrfExact, GraphScope::kAll, false, 64, 64},
                          DenseDtype::kFloat32, kFloatStepTolerance);
}

/// A recorded step takes as long as the launches it is made of; most are kernels of ours.
TEST(DeviceStepWide, CallsFewOperationsOfTorch) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  constexpr int kMostOperations = 220;  // with views, allocations and their poison; seen: 198
  const Variant variant{"", LocalLayer::kGrfExact, GraphScope::kPerTime, false, 64, 64, 4};
  const auto model = MakeModel(variant, DenseDtype::kBfloat16);
  const StepInput input = MakeStepInput(kParticles, model->config());
  const at::NoGradGuard no_grad;
  const TestDevice device;
  device.Place(model.get());
  const StepInput there = device.Put(input);
  const StepEngine engine(model.get());
  engine.Step(there);
  EXPECT_LE(CountOperations([&] { engine.Step(there); }), kMostOperations);
}

class DeviceStepWithoutPlaces : public ::testing::TestWithParam<Variant> {};

/// Global attention carries what is not a number to every particle. The host refuses such clouds.
TEST_P(DeviceStepWithoutPlaces, PredictsNothingFinite) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const auto model = MakeModel(GetParam(), DenseDtype::kFloat32);
  StepInput input = MakeStepInput(kParticles, model->config());
  input.older.positions_m[3][1] = INFINITY;
  input.newer.positions_m[7].fill_(NAN);
  const at::NoGradGuard no_grad;
  EXPECT_THROW(Change(model.get(), input), StatusException);
  const TestDevice device;
  EXPECT_TRUE(at::isnan(Change(model.get(), input, device)).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(All, DeviceStepWithoutPlaces,
                         ::testing::Values(Variant{"GrfExact", LocalLayer::kGrfExact},
                                           Variant{"GrfPerTime", LocalLayer::kGrfExact,
                                                   GraphScope::kPerTime},
                                           Variant{"GrfSampled", LocalLayer::kGrfSampled},
                                           Variant{"MessagePassing", LocalLayer::kMessagePassing}),
                         [](const auto& test) { return test.param.name; });

std::unique_ptr<WorldModel> MakeExactModel(int width, float min_displacement_m) {
  InterlacerConfig config = TinyExactConfig();
  config.network.width = width;
  config.network.min_displacement_m = min_displacement_m;
  return MakeMovingModel(config, {.dense_dtype = DenseDtype::kFloat32});
}

/// Surface tokens, the gate and the dead zone: in the fused head's widths and out of them.
TEST(DeviceStepOfAnExactModel, PredictsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const at::NoGradGuard no_grad;
  for (const int width : {32, 64}) {
    const auto free = MakeExactModel(width, 0);
    const float max_m = free->config().network.max_displacement_m;
    const StepInput input = MakeStepInput(kParticles, free->config(), 30);
    const torch::Tensor moved = Change(free.get(), input).narrow(1, 0, 3);
    const auto model = MakeExactModel(width, max_m * moved.norm(2, {1}).median().item<float>());
    const torch::Tensor expected = Change(model.get(), input);
    const auto still = [](const torch::Tensor& change) {
      return static_cast<double>(change.narrow(1, 0, 3).eq(0).all(1).sum().item<std::int64_t>());
    };
    EXPECT_NEAR(still(expected), kParticles / 2, 2) << width;
    const TestDevice device;
    const torch::Tensor got = Change(model.get(), input, device).to(at::kCPU);
    // A length at the limit may fall on either side of it.
    EXPECT_NEAR(still(got), still(expected), 2) << width;
    const torch::Tensor same =
        got.narrow(1, 0, 3).eq(0).all(1).eq(expected.narrow(1, 0, 3).eq(0).all(1)).unsqueeze(1);
    EXPECT_LT(RelativeL2(at::where(same, got, 0.), at::where(same, expected, 0.)),
              kFloatStepTolerance)
        << width;
  }
}

TEST(DeviceStepWithoutRobot, PredictsAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const auto model = MakeModel({"GrfExact", LocalLayer::kGrfExact}, DenseDtype::kFloat32);
  const StepInput input = MakeStepInput(kParticles, model->config(), 0);
  const at::NoGradGuard no_grad;
  const torch::Tensor expected = Change(model.get(), input);
  const TestDevice device;
  EXPECT_LT(RelativeL2(Change(model.get(), input, device), expected), kFloatStepTolerance);
}

}  // namespace
}  // namespace interlacer::testing
