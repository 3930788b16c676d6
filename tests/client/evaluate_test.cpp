/// `interlacer evaluate` as a user runs it: going on, beginning anew, and what must not be mixed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/json.h"
#include "tests/client/program_support.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Evaluate, ResumptionForgetsFailuresAndMixesNothing) {
  const TempFolder folder;
  const std::string planes = folder.File("planes"), out = folder.File("out");
  for (const std::string id : {"plane_0", "plane_1"}) {
    PaintedPlane plane{64, 48, 3, 0.0001};
    plane.episode_id = id;
    ASSERT_TRUE(WritePaintedPlane(planes + "/" + id, plane).ok());
  }
  const std::string config = WriteTinyRunConfig(folder.File("run.json"), 1);
  ASSERT_EQ(RunVerb({"train", "--config", config, "--data", planes + "/plane_0", "--output",
                     folder.File("run")})
                .exit_code,
            0);
  const auto evaluate = [&](const Words& more) {
    Words words{"evaluate", planes, "-o",     out, "--model", folder.File("run") + "/checkpoint",
                "--steps",  "1",    "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  };
  const auto results = [&] { return nlohmann::json::parse(FilesOf(out)["results.json"]); };

  const fs::path depth = planes + "/plane_1/depth/view_1/000000.png";
  const fs::path whole = folder.File("whole.png");
  fs::copy_file(depth, whole);
  fs::resize_file(depth, 40);
  const ProcessResult failed = evaluate({});
  EXPECT_EQ(failed.exit_code, 3) << failed.err;
  EXPECT_EQ(results()["failures"].size(), 1u);
  EXPECT_EQ(results()["setup"]["plan"]["windows"], 1);

  fs::copy_file(whole, depth, fs::copy_options::overwrite_existing);
  const ProcessResult other_plan = evaluate({"--windows", "2", "--resume"});
  EXPECT_EQ(other_plan.exit_code, 2) << other_plan.err;
  EXPECT_THAT(other_plan.err, HasSubstr("windows"));
  const ProcessResult mended = evaluate({"--resume"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(results()["failures"].size(), 0u);
  EXPECT_EQ(results()["dataset"]["episodes"].size(), 2u);

  // The same name for another recording.
  std::ofstream(planes + "/plane_0/manifest.json", std::ios::app) << "\n";
  const ProcessResult changed = evaluate({"--resume"});
  EXPECT_EQ(changed.exit_code, 3) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("HASH_MISMATCH"));

  std::ofstream(out + "/frames/stale.png") << "of an earlier run";
  const ProcessResult anew = evaluate({"--force", "--episodes", "1"});
  EXPECT_EQ(anew.exit_code, 0) << anew.err;
  EXPECT_EQ(results()["dataset"]["episodes"].size(), 1u);
  EXPECT_FALSE(fs::exists(out + "/frames/stale.png"));
}

}  // namespace
}  // namespace interlacer::testing
