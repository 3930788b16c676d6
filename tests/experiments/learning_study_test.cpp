/// A comparison of networks from its plan to a page, and plans that are none.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "experiments/learning/page.h"
#include "experiments/learning/plan.h"
#include "experiments/learning/study.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

const char* const kPlan = R"({
  "name": "tiny",
  "data": {"motif": "caveman", "train": 16, "validation": 8, "test": 8, "seed": 1},
  "training": {"epochs": 2, "batch_size": 8, "learning_rate": [{"from_step": 0, "value": 0.01}]},
  "seeds": [0, 1],
  "networks": [
    {"name": "GKAT", "published": 0.851,
     "network": {"layers": [{"mechanism": "gkat", "heads": 2, "head_width": 3}]}},
    {"name": "GCN", "network": {"layers": [{"mechanism": "gcn", "head_width": 4, "maps": "shared"}]}}
  ],
  "claims": [["GKAT", "GCN"]]
})";

LearningStudy StudyOf(const std::vector<double>& first, const std::vector<double>& second) {
  LearningStudy study;
  study.plan.name = "made up <b>";
  study.plan.networks.resize(2);
  study.plan.claims = {{"a", "b"}};
  study.networks = {{"a", 0.9, {}}, {"b", std::nullopt, {}}};
  for (std::size_t i = 0; i < first.size(); ++i) {
    study.plan.seeds.push_back(static_cast<std::int64_t>(i));
    study.trivial.push_back({0.693, 0.5});
    for (const auto& [network, score] :
         {std::pair{&study.networks[0], first[i]}, std::pair{&study.networks[1], second[i]}}) {
      LearningResult run;
      run.parameter_count = 7;
      run.epochs = {{1, {0.7, 0.5}, {0.6, 0.6}, 1e-3, 1}, {2, {0.5, 0.7}, {0.4, score}, 1e-3, 1}};
      run.best_epoch = 2;
      run.test = {0.4, score};
      network->runs.push_back(run);
    }
  }
  return study;
}

TEST(LearningStudy, JudgesByTheIntervalOverSeeds) {
  const auto verdict = [](const std::vector<double>& a, const std::vector<double>& b) {
    return CheckClaims(StudyOf(a, b)).at(0).verdict;
  };
  EXPECT_EQ(verdict({0.80, 0.82, 0.81}, {0.60, 0.61, 0.62}), Verdict::kHolds);
  EXPECT_EQ(verdict({0.60, 0.61, 0.62}, {0.80, 0.82, 0.81}), Verdict::kDoesNotHold);
  EXPECT_EQ(verdict({0.80, 0.60, 0.70}, {0.70, 0.61, 0.60}), Verdict::kUndecided);
  // One seed shows no variation.
  EXPECT_EQ(verdict({0.9}, {0.5}), Verdict::kUndecided);
  // Student's interval of 2, 4, 6 is 4 +- 4.303 * 2 / sqrt(3).
  const MeanEstimate estimate = OverSeeds({2, 4, 6});
  EXPECT_NEAR(estimate.interval->low, 4 - 4.3027 * 2 / std::sqrt(3.0), 1e-3);
}

TEST(LearningStudy, WritesAPageOfItsOwn) {
  const LearningStudy study = StudyOf({0.80, 0.82, 0.81}, {0.60, 0.61, 0.62});
  const std::string page = LearningPageHtml(study);
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("made up &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("most frequent class"));
  EXPECT_THAT(page, HasSubstr("81.0"));
  EXPECT_THAT(page, HasSubstr("90.0"));  // published
  EXPECT_THAT(LearningText(study), HasSubstr("holds: a is more accurate than b"));
  EXPECT_THAT(EpochsToCsv(study), HasSubstr("\nb,2,2,0.5,0.7,0.4,0.62,0.001,1\n"));
}

TEST(LearningStudy, RunsAPlanAndKeepsWhatIsFinished) {
  SetThreadCount(1);
  const TempFolder folder;
  const auto plan = Must(ParseLearningPlan(nlohmann::json::parse(kPlan)));
  StudyProgress progress;
  int epochs = 0;
  progress.on_epoch = [&](std::int64_t, const std::string&, const EpochRecord&) { ++epochs; };
  const auto study = Must(RunLearningStudy(plan, folder.path(), progress));
  EXPECT_EQ(epochs, 2 * 2 * 2);
  ASSERT_EQ(study.networks.size(), 2u);
  ASSERT_EQ(study.networks[1].runs.size(), 2u);
  EXPECT_NE(study.networks[0].runs[0].test.loss, study.networks[0].runs[1].test.loss);
  EXPECT_EQ(study.trivial.at(1).score, 0.5);
  const auto json = LearningToJson(study);
  EXPECT_EQ(json["networks"][1]["parameters"], 5 * 4 + 4 * 4 + 4 + 4 * 2 + 2);

  const auto again = Must(RunLearningStudy(plan, folder.path(), progress));
  EXPECT_EQ(epochs, 2 * 2 * 2);
  EXPECT_EQ(again.networks[0].runs[1].test.loss, study.networks[0].runs[1].test.loss);

  // Runs of another plan are not taken for those of this one.
  LearningPlan other = plan;
  other.training.batch_size = 4;
  const auto refused = RunLearningStudy(other, folder.path(), progress);
  EXPECT_EQ(refused.status().reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("/training/batch_size"));
}

TEST(LearningStudy, NamesTheRunOfAnError) {
  SetThreadCount(1);
  const TempFolder folder;
  auto plan = Must(ParseLearningPlan(nlohmann::json::parse(kPlan)));
  plan.networks[1].network.layers[0].options = R"({"order": 3})";
  const auto study = RunLearningStudy(plan, folder.path(), {});
  EXPECT_THAT(study.status().field(), HasSubstr("GCN-0:layers[0].options.order"));
}

TEST(LearningPlan, NamesBadKeys) {
  const auto error = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json plan = nlohmann::json::parse(kPlan);
    plan[nlohmann::json::json_pointer(pointer)] = value;
    return ParseLearningPlan(plan).status().ToString();
  };
  EXPECT_THAT(error("/other", 1), HasSubstr("other"));
  EXPECT_THAT(error("/seeds", {1, 1}), HasSubstr("seeds: expected at least one, each once"));
  EXPECT_THAT(error("/seeds", {9300000000000000}), HasSubstr("or above 1000000000000"));
  EXPECT_THAT(error("/networks/0/network/layers/0/head_width", 4096),
              HasSubstr("networks[0].network.layers[0].head_width: expected at most"));
  EXPECT_THAT(error("/training/epochs", 0), HasSubstr("training.epochs: expected 1 to"));
  EXPECT_THAT(error("/training/learning_rate", nlohmann::json::array()),
              HasSubstr("training.learning_rate"));
  EXPECT_THAT(error("/networks/1/name", "GKAT"), HasSubstr("networks[1].name: expected each"));
  EXPECT_THAT(error("/networks/1/name", "../GKAT"),
              HasSubstr("networks[1].name: expected 1 to 64"));
  EXPECT_THAT(error("/networks/0/network/layers/0/maps", "both"),
              HasSubstr("networks[0].network.layers[0].maps"));
  EXPECT_THAT(error("/claims/0/1", "GAT"), HasSubstr("claims: expected pairs of names"));
  EXPECT_THAT(error("/data/train", "many"), HasSubstr("data.train"));
}

/// Networks of the shipped plans by their parameters, which docs/learning.md lists beside the
/// papers'; each learns one epoch of four graphs.
TEST(LearningPlan, TheShippedPlansRunWithTheParametersThatAreWritten) {
  SetThreadCount(1);
  const std::map<std::string, std::vector<std::int64_t>> parameters{
      {"caveman_short", {1280, 1352, 2338, 4386}}, {"caveman", {1280, 1352, 1314, 4386}},
      {"circle", {1280, 1352, 1314, 4386}},        {"grid", {1280, 1352, 1314, 4386}},
      {"ladder", {1280, 1352, 1314, 4386}},        {"circular_ladder", {1280, 1352, 1314, 4386}},
      {"induced_cycle", {242, 242, 268, 654}}};
  std::set<std::string> seen;
  const std::string folder = std::string(INTERLACER_SOURCE_DIR) + "/experiments/learning/plans";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    ASSERT_TRUE(parameters.contains(name));
    seen.insert(name);
    LearningPlan plan = Must(ReadLearningPlan(entry.path().string()));
    plan.data.train_count = 4;
    plan.data.validation_count = plan.data.test_count = 2;
    plan.training.epoch_count = 1;
    plan.seeds = {0};
    const TempFolder runs;
    const LearningStudy study = Must(RunLearningStudy(plan, runs.path(), {}));
    std::vector<std::int64_t> counts;
    for (const NetworkRuns& network : study.networks) {
      counts.push_back(network.runs.at(0).parameter_count);
    }
    EXPECT_EQ(counts, parameters.at(name));
  }
  EXPECT_EQ(seen.size(), parameters.size());
}

}  // namespace
}  // namespace interlacer
