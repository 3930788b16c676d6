/// `interlacer train` as a user runs it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

TEST(Train, ARunThatPredictsNoStepSaysSo) {
  const TempFolder folder;
  const std::string plane = folder.File("plane");
  ASSERT_TRUE(WritePaintedPlane(plane, PaintedPlane{64, 48, 3, 0.0001}).ok());
  const std::string file = WriteTinyRunConfig(folder.File("run.json"), 1);
  const auto err_of = [&](const char* rollout_steps) {
    nlohmann::json config = *ReadJsonFile(file);
    config["training"]["rollout_steps"] = nlohmann::json::parse(rollout_steps);
    std::ofstream(file) << config.dump();
    const ProcessResult result =
        RunVerb({"train", "--config", file, "--data", plane, "-o", folder.File("run"), "--force"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(err_of(R"([{"from_step": 0, "value": 0}, {"from_step": 1, "value": 6}])"),
              HasSubstr("no update predicts a step"));
  EXPECT_THAT(err_of(R"([{"from_step": 0, "value": 1}])"),
              ::testing::Not(HasSubstr("no update predicts a step")));
}

TEST(Train, TwoRunsDoNotShareAFolder) {
  const TempFolder folder;
  const std::string plane = folder.File("plane"), run = folder.File("run");
  ASSERT_TRUE(WritePaintedPlane(plane, PaintedPlane{64, 48, 3, 0.0001}).ok());
  const Words train = {"train",  "--config", WriteTinyRunConfig(folder.File("run.json"), 1),
                       "--data", plane,      "-o",
                       run,      "--resume"};
  ASSERT_EQ(RunVerb(train).exit_code, 0);
  const int lock = open((run + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0) << "the first has ended";
  const ProcessResult second = RunVerb(train);
  EXPECT_EQ(second.exit_code, 8);
  EXPECT_THAT(second.err, HasSubstr("at work here"));
  close(lock);
  EXPECT_EQ(RunVerb(train).exit_code, 0);
}

TEST(Train, AConfigurationThatIsNoJsonIsNamed) {
  const TempFolder folder;
  const std::string file = folder.File("broken.json");
  std::ofstream(file) << "{";
  const ProcessResult result =
      RunVerb({"train", "--config", file, "--data", folder.path(), "-o", folder.File("run")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(file + " is not valid JSON"));
}

}  // namespace
}  // namespace interlacer::testing
