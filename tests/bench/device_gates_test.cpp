/// The gates of the device's stages, with the kernels on the CPU (tests/device/emulation): each
/// compares with its CPU twin and passes.

#include <gtest/gtest.h>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/runner.h"

namespace interlacer::bench {

// In place of bench/device/graph_work.cpp and device_platform.cpp, which need graphs and a device.
Work GraphWork(std::function<Launch()> make_launch, const Options&) {
  return Timed([make_launch] { RunOnce(BenchStream(), make_launch()); });
}

void RunOnce(const BenchStream& stream, const Launch& launch) {
  RequireCuda(launch(stream.get()), "launch");
  stream.Wait();
}

std::string DeviceAbsence() { return "emulated"; }

namespace {

Options Small() {
  Options options;
  options.device = "cuda";
  options.n = 300;
  options.d = 32;
  options.threads = 2;
  options.rounds = 1;
  options.seed = 11;
  options.image_width_px = 40;
  options.image_height_px = 24;
  return options;
}

void ExpectGatesPass(std::vector<Case> (*make_cases)(const Options&), const Options& options) {
  Platform platform;
  platform.device = "cuda";
  platform.rate = [](Floor::Kind, const std::string&) { return 1.0; };
  for (const Case& item : make_cases(options)) {
    const Outcome outcome = RunCase(platform, item, options);
    EXPECT_TRUE(outcome.correct) << outcome.json.dump(1);
    EXPECT_EQ(outcome.json["skipped"], "emulated");
    EXPECT_TRUE(outcome.json["ours_ms"].is_number());
    EXPECT_EQ(outcome.json["floor_kind"], platform.memory);
  }
}

TEST(DeviceGates, Neighbours) {
  for (const char* cloud : {"sheet", "cube"}) {
    Options options = Small();
    options.cloud = cloud;
    options.timesteps = 2;
    ExpectGatesPass(&MakeDeviceKnnCases, options);
  }
}

TEST(DeviceGates, Walks) { ExpectGatesPass(&MakeDeviceWalkCases, Small()); }

TEST(DeviceGates, GrfAttention) {
  Options options = Small();
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
  options.backward = true;
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
}

TEST(DeviceGates, PackedAndTiledGrfAttention) {
  Options options = Small();
  options.dtype = "bf16";
  EXPECT_GE(MakeDeviceGrfAttentionCases(options).size(), 2u);
  ExpectGatesPass(&MakeDeviceGrfAttentionCases, options);
}

TEST(DeviceGates, LinearAttention) { ExpectGatesPass(&MakeDeviceLinearAttentionCases, Small()); }

TEST(DeviceGates, Render) { ExpectGatesPass(&MakeDeviceRenderCases, Small()); }

TEST(DeviceGates, Ssim) { ExpectGatesPass(&MakeDeviceSsimCases, Small()); }

}  // namespace
}  // namespace interlacer::bench
