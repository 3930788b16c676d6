/// `interlacer experiment masks` as a user runs it, at tiny sizes.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

Words Masks(const std::string& output, const Words& more = {}) {
  Words words{"experiment", "masks", "-o", output, "--quick"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ExperimentMasks, MakesEveryPageAndKeepsFinishedOnes) {
  const TempFolder folder;
  const std::string out = folder.File("out");
  const ProcessResult result = RunVerb(Masks(out));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto files = FilesOf(out);
  for (const std::string page : {"flops", "concentration", "sparsity", "complexity", "overtaking",
                                 "variance", "gkat_cost"}) {
    ASSERT_EQ(files.count(page + ".json"), 1u) << page;
    const auto json = nlohmann::json::parse(files.at(page + ".json"));
    EXPECT_EQ(json["schema"], "interlacer.masks");
    EXPECT_EQ(json["page"], page);
    EXPECT_EQ(json["quick"], true);
    EXPECT_FALSE(json["points"].empty()) << page;
    ASSERT_FALSE(json["claims"].empty()) << page;
    for (const auto& claim : json["claims"]) {
      for (const char* field : {"claim", "source", "paper", "ours", "rule"}) {
        EXPECT_FALSE(claim[field].get<std::string>().empty()) << page << " " << field;
      }
      const std::set<std::string> verdicts{"holds", "does not hold", "undecided"};
      EXPECT_EQ(verdicts.count(claim["verdict"]), 1u);
    }
    EXPECT_THAT(files.at(page + ".csv"), HasSubstr("\n"));
    ExpectSelfContained(files.at(page + ".html"));
    EXPECT_THAT(files.at("report.html"), HasSubstr(page + ".html"));
  }
  // Counts do not depend on the machine.
  const auto flops = nlohmann::json::parse(files.at("flops.json"));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(flops["claims"][i]["verdict"], "holds") << i;
  const auto concentration = nlohmann::json::parse(files.at("concentration.json"));
  for (const auto& claim : concentration["claims"]) EXPECT_NE(claim["verdict"], "does not hold");
  const auto sparsity = nlohmann::json::parse(files.at("sparsity.json"));
  std::set<std::string> failed;
  for (const auto& claim : sparsity["claims"]) {
    if (claim["verdict"] == "does not hold") failed.insert(claim["claim"]);
  }
  ASSERT_EQ(failed.size(), 1u) << "one walk of five nodes has probability 1/16";
  EXPECT_THAT(*failed.begin(), HasSubstr("b as printed"));

  const auto time = std::filesystem::last_write_time(out + "/sparsity.json");
  const ProcessResult again = RunVerb(Masks(out, {"--pages", "sparsity"}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("b as printed"));
  EXPECT_EQ(std::filesystem::last_write_time(out + "/sparsity.json"), time);
  ASSERT_EQ(RunVerb(Masks(out, {"--pages", "sparsity", "--force"})).exit_code, 0);
  EXPECT_NE(std::filesystem::last_write_time(out + "/sparsity.json"), time);

  // Real figures are not taken for tiny ones, nor the other way round.
  const ProcessResult other = RunVerb({"experiment", "masks", "-o", out, "--pages", "sparsity"});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("--force"));
  const ProcessResult longer = RunVerb(Masks(out, {"--pages", "sparsity", "--longest", "8192"}));
  EXPECT_NE(longer.exit_code, 0) << "nor those of other lengths";
  EXPECT_THAT(longer.err, HasSubstr("8192"));
}

TEST(ExperimentMasks, RefusesAPageThatIsNone) {
  const TempFolder folder;
  const std::string out = folder.File("out");
  const ProcessResult result = RunVerb(Masks(out, {"--pages", "flops,other"}));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("other"));
  EXPECT_THAT(result.err, HasSubstr("gkat_cost"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace interlacer::testing
