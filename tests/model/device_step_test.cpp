/// Whole model steps by the way of a CUDA device, kernels emulated, against the host's.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "model/world_model.h"
#include "tests/model/emulated_device.h"
#include "tests/model/gradient_check.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kParticles = 200;
/// bfloat16 keeps 7 bits of mantissa in dense layers; host and device round at different places.
constexpr double kBfloat16StepTolerance = 5e-2;

struct Variant {
  const char* name;
  LocalLayer local;
  GraphScope scope = GraphScope::kAll;
  bool recompute = false;
  int key_width = 16;
};

std::unique_ptr<WorldModel> MakeModel(const Variant& variant, DenseDtype dtype) {
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = variant.local;
  config.graph.scope = variant.scope;
  config.network.local.key_width = variant.key_width;
  auto model = std::make_unique<WorldModel>(config, WorldModelOptions{dtype, 0, variant.recompute});
  InitializeWeights(model.get(), 3);
  PerturbHeads(model.get());
  return model;
}

/// What moved, so that the tolerance is one of the prediction and not of the positions.
torch::Tensor Change(WorldModel* model, const StepInput& input) {
  const CloudTensors next = model->Step(input);
  return at::cat(
      {(next.positions_m - input.newer.positions_m) / model->config().network.max_displacement_m,
       next.features - input.newer.features},
      1);
}

class DeviceStep : public ::testing::TestWithParam<Variant> {};

TEST_P(DeviceStep, PredictsAsTheHost) {
  const auto model = MakeModel(GetParam(), DenseDtype::kFloat32);
  const StepInput input = MakeStepInput(kParticles, model->config());
  const at::NoGradGuard no_grad;
  const torch::Tensor expected = Change(model.get(), input);
  const EmulatedDevice device;
  const torch::Tensor got = Change(model.get(), input);
  EXPECT_LT(RelativeL2(got, expected), kFloatStepTolerance);
  EXPECT_TRUE(at::equal(got, Change(model.get(), input)));
}

TEST_P(DeviceStep, HasTheGradientsOfTheHost) {
  const auto model = MakeModel(GetParam(), DenseDtype::kFloat32);
  StepInput input = MakeStepInput(kParticles, model->config());
  input.newer.features.requires_grad_();
  const auto gradients = [&] {
    model->zero_grad();
    input.newer.features.mutable_grad() = torch::Tensor();
    Change(model.get(), input).square().sum().backward();
    std::map<std::string, torch::Tensor> result{
        {"newer.features", input.newer.features.grad().clone()}};
    for (const auto& item : model->named_parameters()) {
      if (item.value().grad().defined()) result[item.key()] = item.value().grad().clone();
    }
    return result;
  };
  const auto expected = gradients();
  const EmulatedDevice device;
  const auto got = gradients();
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
                      Variant{"Unmasked", LocalLayer::kUnmasked},
                      Variant{"None", LocalLayer::kNone}),
    [](const auto& test) { return test.param.name; });

class DeviceStepBfloat16 : public ::testing::TestWithParam<int> {};

/// Keys as wide as values are packed with them and attended to by tiles.
TEST_P(DeviceStepBfloat16, PredictsAsTheHost) {
  const Variant variant{"GrfExact", LocalLayer::kGrfExact, GraphScope::kAll, false, GetParam()};
  const auto model = MakeModel(variant, DenseDtype::kFloat32);
  const auto rounding = MakeModel(variant, DenseDtype::kBfloat16);
  const StepInput input = MakeStepInput(kParticles, model->config());
  const at::NoGradGuard no_grad;
  const torch::Tensor expected = Change(model.get(), input);
  const EmulatedDevice device;
  EXPECT_LT(RelativeL2(Change(rounding.get(), input), expected), kBfloat16StepTolerance);
}

INSTANTIATE_TEST_SUITE_P(KeyWidths, DeviceStepBfloat16, ::testing::Values(16, 32));

TEST(DeviceStepWithoutRobot, PredictsAsTheHost) {
  const auto model = MakeModel({"GrfExact", LocalLayer::kGrfExact}, DenseDtype::kFloat32);
  StepInput input = MakeStepInput(kParticles, model->config());
  input.kinematic_points_m = at::empty({kKinematicTimes, 0, 3});
  const at::NoGradGuard no_grad;
  const torch::Tensor expected = Change(model.get(), input);
  const EmulatedDevice device;
  EXPECT_LT(RelativeL2(Change(model.get(), input), expected), kFloatStepTolerance);
}

}  // namespace
}  // namespace interlacer::testing
