/// The gates of the model's stages by the way of a device, with the kernels on the CPU: a step and
/// a training sequence agree with the float64 twin, and every peer in C++ runs.

#include "bench/device/model/model_stages.h"
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
