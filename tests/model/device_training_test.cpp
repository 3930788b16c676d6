/// The training loss of a sequence on a device (tests/model/test_device.h) against the host's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "data/sim/robot.h"
#include "model/lifting/token_surface.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "robots/forward_kinematics.h"
#include "tests/model/gradient_check.h"
#include "tests/model/plane_robot.h"
#include "tests/model/test_device.h"
#include "tests/model/tiny_scene.h"
#include "tests/model/training/tiny_run.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kRolloutSteps = 2, kTrainedParticles = 200, kRobotPoints = 40;
constexpr float kNudgeM = 1e-3F;
/// Of the largest gradient: a bias before a norm of its channel has rounding errors alone.
constexpr double kNoGradient = 1e-3;

/// Static frames, and arms that move before them.
TrainingSample MakeSample(const TrainOptions& run, const TempFolder& folder) {
  TrainOptions options = run;
  options.datasets = {{WritePaintedPlane(folder.path() + "/plane").value(), 1.0}};
  const auto source = MakeDatasetSource(options.config.model, options.datasets, 7).value();
  TrainingSample sample =
      source->Draw({.rollout_steps = kRolloutSteps, .particle_count = kTrainedParticles}).value();
  // Off the pixels' regular places, where several anchors are equally close and rounding chooses.
  std::mt19937 random(1);
  std::uniform_real_distribution<float> nudge_m(-kNudgeM, kNudgeM);
  for (LiftedTime* time : {&sample.older, &sample.newer}) {
    for (float& coordinate_m : time->positions_m) coordinate_m += nudge_m(random);
  }
  auto robot = std::make_shared<Robot>(PlatesOfBodies());
  robot->surface = ThinnedSurface(*robot, kRobotPoints);
  for (int time = 0; time < kRolloutSteps + 2; ++time) {
    const std::vector<double> joints(sim::kStateColumns, 0.02 * time);
    sample.robot_rows.link_poses.push_back(LinkPoses(*robot, joints));
  }
  sample.robot_rows.row_count = kRolloutSteps + 2;
  sample.robot = std::move(robot);
  return sample;
}

class DeviceTraining : public ::testing::TestWithParam<LocalLayer> {};

TEST_P(DeviceTraining, HasLossAndGradientsOfTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const TempFolder folder;
  TrainOptions run = TinyRun("", folder.path(), 1);
  InterlacerConfig& config = run.config.model;
  config.network.local.kind = GetParam();
  config.graph.scope = GraphScope::kPerTime;
  const auto model =
      MakeMovingModel(config, WorldModelOptions{.dense_dtype = DenseDtype::kFloat32});
  const TrainingSample sample = MakeSample(run, folder);
  SequenceLossOptions options;
  options.ray_count = 48;
  options.reconstruction_weight = 1;
  options.regularization = {.displacement = 0.1, .stretch = 3, .feature_change = 0.01};

  const auto gradients = [&](SequenceLoss* loss) {
    model->zero_grad();
    *loss = ComputeSequenceLoss(model.get(), sample, options);
    loss->total.backward();
    return ParameterGradients(*model);
  };
  SequenceLoss expected, got;
  const auto expected_gradients = gradients(&expected);
  const TestDevice device;
  device.Place(model.get());
  const auto got_gradients = gradients(&got);

  EXPECT_LT(RelativeL2(got.total, expected.total), kFloatStepTolerance);
  EXPECT_NEAR(got.reconstruction, expected.reconstruction,
              kFloatStepTolerance * expected.reconstruction);
  EXPECT_NEAR(got.prediction, expected.prediction, kFloatStepTolerance * expected.prediction);
  ASSERT_EQ(got_gradients.size(), expected_gradients.size());
  ASSERT_FALSE(expected_gradients.empty());
  double largest = 0;
  for (const auto& item : expected_gradients) {
    largest = std::max(largest, item.second.norm().item<double>());
  }
  const double tolerance = GetParam() == LocalLayer::kMessagePassing
                               ? device.message_passing_gradient_tolerance()
                               : kFloatGradientTolerance;
  for (const auto& [name, gradient] : expected_gradients) {
    const double difference =
        (got_gradients.at(name).to(at::kCPU) - gradient).norm().item<double>();
    const double scale = std::max(gradient.norm().item<double>(), kNoGradient * largest);
    EXPECT_LT(difference, tolerance * scale) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTraining,
                         ::testing::Values(LocalLayer::kGrfExact, LocalLayer::kMessagePassing,
                                           LocalLayer::kUnmasked),
                         [](const auto& test) {
                           switch (test.param) {
                             case LocalLayer::kGrfExact:
                               return "GrfExact";
                             case LocalLayer::kMessagePassing:
                               return "MessagePassing";
                             default:
                               return "Unmasked";
                           }
                         });

}  // namespace
}  // namespace interlacer::testing
