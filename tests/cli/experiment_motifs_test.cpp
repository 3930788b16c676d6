/// `interlacer experiment motifs` as a user runs it, on a few graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "common/file_io.h"
#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

constexpr char kTinyMotifs[] = R"({
  "name": "tiny", "seeds": [0, 1],
  "data": {"motif": "circle", "train": 8, "validation": 4, "test": 4},
  "training": {"epochs": 2, "batch_size": 4},
  "networks": [{"name": "GAT", "network": {"layers": [{"mechanism": "gat"}]}},
               {"name": "SGC", "network": {"layers": [{"mechanism": "sgc"}]}}],
  "claims": [["GAT", "SGC"]]})";

TEST(ExperimentMotifs, WritesPageTableAndEpochsAndKeepsFinishedRuns) {
  const TempFolder folder;
  const std::string plan = folder.File("plan.json"), out = folder.File("out");
  ASSERT_TRUE(WriteFileAtomic(plan, kTinyMotifs).ok());
  const Words words{"experiment", "motifs", "--plan", plan, "-o", out};
  const ProcessResult result = RunVerb(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("GAT is more accurate than SGC"));
  ExpectSelfContained(ReadTextFile(out + "/report.html").value());
  const auto json = ReadJsonFile(out + "/learning.json").value();
  EXPECT_EQ(json["schema"], "interlacer.learning/1");
  EXPECT_EQ(json["networks"][1]["runs"].size(), 2u);
  EXPECT_EQ(json["trivial"][0]["accuracy"], 0.5);
  const std::string csv = ReadTextFile(out + "/epochs.csv").value();
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 2 * 2);

  const std::string state = out + "/runs/GAT-1/checkpoint/state.safetensors";
  const auto time = std::filesystem::last_write_time(state);
  ASSERT_EQ(RunVerb(words).exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(state), time);
  EXPECT_EQ(ReadJsonFile(out + "/learning.json").value()["networks"], json["networks"]);
}

TEST(ExperimentMotifs, NamesWhatAPlanHasWrong) {
  const TempFolder folder;
  const std::string plan = folder.File("plan.json"), out = folder.File("out");
  std::string text = kTinyMotifs;
  text.replace(text.find("circle"), 6, "star");
  ASSERT_TRUE(WriteFileAtomic(plan, text).ok());
  const ProcessResult result = RunVerb({"experiment", "motifs", "--plan", plan, "-o", out});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("data.motif: expected one of caveman"));
  EXPECT_FALSE(std::filesystem::exists(out + "/runs"));
}

}  // namespace
}  // namespace interlacer::testing
