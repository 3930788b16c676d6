/// The gates of the model's stages by the way of a device, with the kernels on the CPU: a step and
/// a training sequence agree with the float64 twin, and every peer in C++ runs. And what the gates
/// of gradients and mechanisms let pass.

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/device/model/model_stages.h"
#include "bench/host_platform.h"
#include "bench/stages/train_step.h"
#include "bench/stages/update.h"
#include "tests/bench/emulated_gates.h"
#include "tests/model/emulated_device.h"

namespace interlacer::bench {
namespace {

ModelDevice PlaceOf(const testing::EmulatedDevice& device) {
  ModelDevice place;
  place.infix = "cuda/";
  place.cuda = device.backend();
  return place;
}

Options Small() {
  Options options = SmallDeviceOptions();
  options.n = 64;
  options.timesteps = 2;
  options.d = 64;
  return options;
}

TEST(DeviceModelGates, RecordedSteps) {
  const testing::EmulatedDevice device;
  const Options options = Small();
  StepStage stage = MakeStepStage(options, PlaceOf(device));
  AddStepPeers(options, &stage);
  EXPECT_EQ(stage.cases.size(), 9u);
  ExpectGatesPass(stage.cases, options);
  EXPECT_GT(stage.problem().steps.replay_count(), 0);
}

TEST(DeviceModelGates, RecordedBfloat16Steps) {
  const testing::EmulatedDevice device;
  Options options = Small();
  options.dtype = "bf16";
  options.rounds = 0;  // an emulated step takes a second
  StepStage stage = MakeStepStage(options, PlaceOf(device));
  AddStepPeers(options, &stage);
  EXPECT_EQ(stage.cases.size(), 9u);
  ExpectGatesPass(stage.cases, options);
  for (const Case& item : stage.cases) {
    if (item.run_peer) {
      EXPECT_GT(item.run_peer(), 0) << item.name;
    }
  }
}

TEST(DeviceModelGates, TrainingSequence) {
  const testing::EmulatedDevice device;
  Options options = Small();
  options.rollout_steps = 1;
  options.rounds = 0;  // emulated rays take seconds
  TrainStage stage = MakeTrainStage(options, PlaceOf(device));
  AddTrainPeers(options, &stage);
  EXPECT_EQ(stage.cases.size(), 5u);
  ExpectGatesPass(stage.cases, options);
}

TEST(TrainGate, TheBoundFollowsTheTwinUpToAFewHundredths) {
  EXPECT_EQ(GradientBound(0), 1e-3);
  EXPECT_DOUBLE_EQ(GradientBound(1e-3), 1e-2);
  EXPECT_EQ(GradientBound(0.2), 3e-2) << "a twin that is far off excuses nothing";
  EXPECT_TRUE(std::isnan(GradientBound(std::numeric_limits<double>::quiet_NaN())));
}

TEST(TrainGate, ChecksTwoStepsOfTheManyThatAreTimed) {
  Options options = Small();
  options.rollout_steps = 6;
  const TrainStage stage = MakeTrainStage(options, ModelDevice{});
  const GateResult gate = stage.base.gate();
  EXPECT_EQ(gate.reference, "float64 autograd of the eager twin, 128 tokens, 2 steps");
  EXPECT_LE(gate.error_bound, 3e-2);
  EXPECT_EQ(stage.problem().sequence.steps(), 6);
}

TEST(MechanismGate, ChecksTheWayThatIsTimed) {
  Options options = Small();
  options.n = 4096;  // up to 256 tokens the dense way is taken
  options.d = 8;
  const std::vector<Case> cases = MakeMechanismCases(options);
  const auto item = std::find_if(cases.begin(), cases.end(), [](const Case& one) {
    return one.name == "mechanisms/linear_causal/4096/d8/f32/torch_dense";
  });
  ASSERT_NE(item, cases.end());
  const GateResult gate = item->gate();
  EXPECT_TRUE(gate.correct()) << gate.error;
  EXPECT_EQ(gate.params["way"], "features");
}

TEST(DeviceModelGates, TrainingUpdate) {
  const testing::EmulatedDevice device;
  Options options = Small();
  options.rollout_steps = 1;
  options.batch = 2;
  options.rounds = 0;
  const std::vector<Case> cases = MakeUpdateStage(options, PlaceOf(device));
  EXPECT_EQ(cases.size(), 2u);
  ExpectGatesPass(cases, options);
}

}  // namespace
}  // namespace interlacer::bench
