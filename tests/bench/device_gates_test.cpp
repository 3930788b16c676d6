/// The gates of the device's stages, with the kernels on the CPU (tests/device/emulation): each
/// compares with its CPU twin and passes.

#include "bench/device/graph_work.h"
#include "bench/device/model/observed_stage.h"
#include "tests/bench/emulated_gates.h"

namespace interlacer::bench {

// In place of bench/device/graph_work.cpp, which needs graphs.
Work GraphWork(std::function<Launch()> make_launch, const Options&) {
  return Timed([make_launch] { RunOnce(CheckedStream(), make_launch()); });
}

void RunOnce(const CheckedStream& stream, const Launch& launch) {
  RequireCuda(launch(stream.get()), "launch");
  stream.Wait();
}

void RunReplayed(const Launch& launch, const std::function<void()>& before) {
  RunOnce(CheckedStream(), launch);
  before();
  RunOnce(CheckedStream(), launch);
}

namespace {

void ExpectGatesPass(std::vector<Case> (*make_cases)(const Options&),
                     const Options& options = SmallDeviceOptions()) {
  bench::ExpectGatesPass(make_cases(options), options);
}

TEST(DeviceGates, Neighbours) {
  for (const char* cloud : {"sheet", "cube"}) {
    Options options = SmallDeviceOptions();
    options.cloud = cloud;
    options.timesteps = 2;
    ExpectGatesPass(&MakeDeviceKnnCases, options);
  }
}

TEST(DeviceGates, Walks) { ExpectGatesPass(&MakeDeviceWalkCases); }

TEST(DeviceGates, GrfAttention) {
  Options options = SmallDeviceOptions();
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
  options.backward = true;
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
}

TEST(DeviceGates, PackedGrfAttention) {
  Options options = SmallDeviceOptions();
  options.dtype = "bf16";
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
  options.d = 256;
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
}

TEST(DeviceGates, Observed) {
  Options options = SmallDeviceOptions();
  options.image_width_px = 40;
  options.image_height_px = 30;
  ExpectGatesPass(&MakeDeviceObservedCases, options);
}

TEST(DeviceGates, LinearAttention) {
  ExpectGatesPass(&MakeDeviceLinearAttentionCases);
  Options options = SmallDeviceOptions();
  options.dtype = "bf16";
  options.d = 64;
  ExpectGatesPass(&MakeDeviceLinearAttentionCases, options);
}

class DeviceRenderGates : public ::testing::TestWithParam<const char*> {};

TEST_P(DeviceRenderGates, Render) {
  Options options = SmallDeviceOptions();
  options.dtype = GetParam();
  options.rounds = 0;  // an emulated view takes seconds
  options.image_width_px = 24;
  options.image_height_px = 16;
  ExpectGatesPass(&MakeDeviceRenderCases, options);
}

INSTANTIATE_TEST_SUITE_P(FieldTypes, DeviceRenderGates, ::testing::Values("f32", "bf16"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace interlacer::bench
