/// `interlacer train` as a user runs it.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace interlacer::testing
