#include "evaluation/results.h"

#include <gtest/gtest.h>

#include <string>

#include "common/json.h"
#include "tests/evaluation/results_support.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

TEST(Results, JsonRoundTripKeepsEveryBit) {
  Results before = MakeResults(2, 2);
  before.values[0].value = 0.1 + 0.2;
  before.failures.push_back({"episode_9", "HASH_MISMATCH", "color/left/000001.png"});
  before.warnings["LOW_VALID_DEPTH"] = 3;
  before.plan = {4, 2, {"a", "b"}, {"c"}};
  const std::string text = ResultsToJson(before).dump();
  const auto document = Must(ParseJson(text, "test"));
  const auto after = Must(ParseResults(document));
  EXPECT_EQ(after.values.size(), before.values.size());
  EXPECT_EQ(*after.values[0].value, 0.1 + 0.2);
  EXPECT_EQ(after.episodes, before.episodes);
  EXPECT_EQ(after.failures[0].message, "color/left/000001.png");
  EXPECT_EQ(after.warnings, before.warnings);
  EXPECT_TRUE(nlohmann::json(ResultsToJson(after)) == document);
}

TEST(Results, NullValuesCarryTheirReason) {
  const Results results = MakeResults(1, 1);
  const auto document = ParseJson(ResultsToJson(results).dump(), "test");
  const auto after = Must(ParseResults(*document));
  EXPECT_FALSE(after.values[2].value);
  EXPECT_EQ(after.values[2].reason, "fewer than 100 pixels");
}

TEST(Results, RefusesOtherSchemasAndNewerVersions) {
  nlohmann::json document = ResultsToJson(MakeResults(1, 1));
  document["schema_version"] = kResultsSchemaVersion + 1;
  EXPECT_EQ(ParseResults(document).status().reason(), reason::SCHEMA_VERSION_UNSUPPORTED);
  document["schema_version"] = 0;
  EXPECT_EQ(ParseResults(document).status().reason(), reason::SCHEMA_VERSION_UNSUPPORTED);
  document["schema"] = "interlacer.episode";
  EXPECT_EQ(ParseResults(document).status().reason(), reason::SCHEMA_INVALID);
  document = ResultsToJson(MakeResults(1, 1));
  document["model"]["weights_sha256"] = 5;
  EXPECT_EQ(ParseResults(document).status().field(), "model.weights_sha256");
  document = ResultsToJson(MakeResults(1, 1));
  document["values"][1].erase("step");
  EXPECT_EQ(ParseResults(document).status().field(), "values[1].step");
}

TEST(Results, RefusesValuesThatStandTwiceAndStepsBelowZero) {
  const nlohmann::json written = ResultsToJson(MakeResults(1, 1));
  nlohmann::json document = written;
  document["values"].push_back(document["values"][0]);
  document["values"].back()["value"] = 5;
  const Status twice = ParseResults(document).status();
  EXPECT_EQ(twice.field(), "values[" + std::to_string(written["values"].size()) + "].metric");
  EXPECT_THAT(twice.message(), HasSubstr("at step 0 again"));
  // A camera that two rollouts of a static scene share.
  for (const std::size_t i : {std::size_t{0}, written["values"].size()}) {
    document["values"][i]["start_step"] = 0;
  }
  EXPECT_TRUE(ParseResults(document).ok());
  for (const char* key : {"step", "start_step"}) {
    document = written;
    document["values"][1][key] = -1;
    EXPECT_EQ(ParseResults(document).status().field(), std::string("values[1].") + key);
  }
}

TEST(Results, FilesOfEarlierVersionsAreRead) {
  Results now = MakeResults(1, 1);
  now.plan = {4, 2, {}, {}};
  nlohmann::json document = ResultsToJson(now);
  for (const char* key : {"plan", "subjects", "render_mode"}) document["setup"].erase(key);
  document.erase("metrics");
  document.erase("particles");
  document["schema_version"] = 1;
  nlohmann::json old = document["values"][0];
  old["metric"] = "mde_m_v1";
  document["values"].push_back(old);
  const auto earlier = Must(ParseResults(document));
  EXPECT_FALSE(earlier.plan);
  EXPECT_TRUE(earlier.metrics.empty() && earlier.subjects.empty() && earlier.particles.empty());
  // What only that version knows stays, last and under its own name.
  EXPECT_EQ(MetricsOf(earlier).back(), "mde_m_v1");
}

TEST(Results, AFileKeepsTheDefinitionsItWasWrittenWith) {
  nlohmann::json document = ResultsToJson(MakeResults(1, 1));
  document["metrics"][std::string(kPsnr)]["definition"] = "as it was";
  const auto results = Must(ParseResults(document));
  EXPECT_EQ(ResultsToJson(results)["metrics"][std::string(kPsnr)]["definition"], "as it was");
}

TEST(Results, FramesOfOneEpisodeAreAveragedFirst) {
  Results results;
  AddValue(&results, kModelSubject, "many", 0, kSsim, 0.0, "left");
  AddValue(&results, kModelSubject, "many", 0, kSsim, 0.2, "right");
  AddValue(&results, kModelSubject, "many", 1, kSsim, 0.4, "left");
  AddValue(&results, kModelSubject, "one", 0, kSsim, 1.0, "left");
  const auto all = Aggregate(results, {kModelSubject, kSsim, -1, "", {}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->n, 2);
  EXPECT_NEAR(all->mean, 0.6, testing::kDoubleSumTolerance);
  const auto right = Aggregate(results, {kModelSubject, kSsim, 0, "right", {}});
  EXPECT_EQ(right->n, 1);
  EXPECT_FALSE(Aggregate(results, {kSplat, kSsim, 0, "", {}}));
}

TEST(Results, AggregatesAndDefinitionsAreInTheFile) {
  const auto json = ResultsToJson(MakeResults(3, 2));
  EXPECT_EQ(json["metrics"][std::string(kSsim)]["sigma_px"], 1.5);
  for (const std::string_view metric : kMetrics) {
    EXPECT_TRUE(json["metrics"].contains(std::string(metric))) << metric;
  }
  EXPECT_EQ(json["aggregates"][0]["camera"], "all");
  EXPECT_EQ(json["aggregates"][0]["n"], 3);
  EXPECT_EQ(json["baselines"]["copy_last"][0]["mean"], 0.9);
  EXPECT_NEAR(json["timing"]["step_s"]["p50"], 0.6, testing::kDoubleSumTolerance);
}

TEST(Results, CsvQuotesWhatNeedsIt) {
  Results results;
  AddValue(&results, kModelSubject, "a,\"b\"", 0, kSsim, 0.5);
  AddValue(&results, kModelSubject, "c", 1, kSsim, std::nullopt);
  const std::string csv = ResultsToCsv(results);
  EXPECT_THAT(csv, HasSubstr("model,\"a,\"\"b\"\"\",1,left,1,0,ssim_wang_rgb_v1,0.5,\n"));
  EXPECT_THAT(csv, HasSubstr("model,c,1,left,1,1,ssim_wang_rgb_v1,,fewer than 100 pixels\n"));
}

}  // namespace
}  // namespace interlacer
