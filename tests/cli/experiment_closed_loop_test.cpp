/// `interlacer experiment closed_loop` as a user runs it, without a model.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

Words Command(const std::string& output, const Words& more) {
  Words words{"experiment", "closed_loop", "--scenes", "1",       "--decisions",
              "1",          "--choosers",  "tool",     "--model", "not-a-folder",
              "-o",         output,        "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ExperimentClosedLoop, ChoosersThatAskNoModelNeedNone) {
  const TempFolder folder;
  const std::string out = folder.File("out");
  const ProcessResult result = RunVerb(Command(out, {"--split", "val", "--least-gain", "tool=9"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = ReadJsonFile(out + "/closed_loop.json").value();
  EXPECT_EQ(json["model"], "");
  EXPECT_EQ(json["split"], "val");
  EXPECT_EQ(json["least_gain_m"], nlohmann::json({{"tool", 9.0}}));
  EXPECT_EQ(json["trials"][0]["decisions"][0]["chosen"], 0);
}

TEST(ExperimentClosedLoop, ALeastGainIsRefusedUnlessItsChooserCompares) {
  const TempFolder folder;
  const std::string out = folder.File("out");
  for (const std::string gain : {"tool", "tool=", "tool=-1", "tool=x", "guess=0.1", "nobody=0.1",
                                 "tool=0.1,tool=0.2", "tool=nan"}) {
    const ProcessResult result = RunVerb(Command(out, {"--least-gain", gain}));
    EXPECT_NE(result.exit_code, 0) << gain;
    EXPECT_THAT(result.err, HasSubstr("--least-gain: expected CHOOSER=METRES")) << gain;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace interlacer::testing
