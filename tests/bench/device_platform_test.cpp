/// What interlacer_bench --device=cuda says where there is no device.

#include "bench/device/device_platform.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bench/program.h"
#include "bench/runner.h"
#include "tests/bench/small_options.h"

namespace interlacer::bench {
namespace {

Options OfStage(const std::string& stage) {
  Options options = SmallDeviceOptions();
  options.stage = stage;
  return options;
}

class DevicePlatformTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (platform_.absent.empty()) GTEST_SKIP() << "a CUDA device is there";
    if (platform_.stages.empty()) GTEST_SKIP() << platform_.absent;
  }
  const Platform platform_ = DevicePlatform();
};

TEST_F(DevicePlatformTest, EveryCaseIsNamedAndSkippedWithTheReason) {
  std::set<std::string> names;
  for (const Stage& stage : platform_.stages) {
    const std::vector<Case> cases = MakeCases(platform_, OfStage(stage.name));
    ASSERT_FALSE(cases.empty()) << stage.name;
    for (const Case& item : cases) {
      const Outcome outcome = RunCase(platform_, item, OfStage(stage.name));
      EXPECT_TRUE(outcome.skipped);
      EXPECT_EQ(outcome.json["skipped"], platform_.absent);
      EXPECT_EQ(outcome.json["device"], "cuda");
      EXPECT_TRUE(outcome.json["ours_ms"].is_null());
      EXPECT_TRUE(names.insert(item.name).second) << item.name;
      EXPECT_EQ(item.name.find(std::string(stage.name) + "/cuda/"), 0u) << item.name;
    }
  }
}

TEST_F(DevicePlatformTest, TheProgramEndsWithTheCodeOfAnAbsentDevice) {
  const auto run = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"interlacer_bench", "--device=cuda", "--json=/dev/null"});
    return RunProgram(static_cast<int>(arguments.size()), arguments.data(),
                      [] { return std::vector<Platform>{DevicePlatform()}; });
  };
  EXPECT_EQ(run({"--stage=walks"}), 3);
  EXPECT_EQ(run({"--ceilings"}), 3);
  EXPECT_EQ(run({"--stage=rpc"}), 3);
  EXPECT_EQ(run({"--stage=linear_attention", "--n=64", "--dtype=bf16"}), 3);
  EXPECT_EQ(run({"--stage=linear_attention", "--n=64", "--dtype=bf16", "--d=96"}), 2);
  EXPECT_EQ(run({"--stage=walks", "--device=cpu"}), 2);
}

}  // namespace
}  // namespace interlacer::bench
