#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/json.h"
#include "experiments/hdvpd/cells.h"
#include "experiments/hdvpd/plan.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

std::string PlanPath(const std::string& name) {
  return std::string(INTERLACER_SOURCE_DIR) + "/experiments/hdvpd/plans/" + name + ".json";
}

nlohmann::json PaperPlan() { return *ReadJsonFile(PlanPath("paper")); }

TEST(StudyPlan, TheShippedPlansGiveEveryVariantTheSameBudget) {
  std::set<std::uint64_t> test_seeds;
  for (const char* name : {"paper", "shipped"}) {
    const auto plan = ReadStudyPlan(PlanPath(name));
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    EXPECT_EQ(plan->name, name);
    EXPECT_THAT(plan->VariantNames(),
                ElementsAre("grf_exact", "grf_ones", "message_passing", "none"));
    EXPECT_EQ(plan->seeds.size(), 5u);
    for (const PlannedVariant& variant : plan->variants) {
      EXPECT_EQ(TrialCells(*plan, variant).size(), 6u) << variant.name;
    }
    for (int i = 0; i < plan->test.count; ++i) test_seeds.insert(plan->test.first_seed + i);
    EXPECT_EQ(plan->train.count, 400);
    EXPECT_EQ(plan->val.count, 40);
  }
  EXPECT_EQ(test_seeds.size(), 160u) << "the settings share no test episode";
}

TEST(StudyPlan, ErrorsNameTheField) {
  const std::map<std::string, nlohmann::json> patches{
      {"seeds", {{"seeds", {1, 1}}}},
      {"search.seed", {{"search", {{"seed", 3}}}}},
      {"search.learning_rates", {{"search", {{"learning_rates", nlohmann::json::array()}}}}},
      {"episodes.test.count", {{"episodes", {{"test", {{"count", 0}}}}}}},
      {"scoring.render", {{"scoring", {{"render", "wire"}}}}},
      {"scoring.primary_metric", {{"scoring", {{"primary_metric", "beauty"}}}}},
      {"variants[1].models",
       {{"variants",
         {{{"name", "a"}, {"models", {{{"x", 1}}, {{"x", 2}}}}},
          {{"name", "b"}, {"models", {{{"x", 1}}}}}}}}},
      {"variants[1].name",
       {{"variants",
         {{{"name", "a"}, {"models", {{{"x", 1}}}}}, {{"name", "a"}, {"models", {{{"x", 1}}}}}}}}},
      {"stages", {{"stages", nlohmann::json::array()}}},
      {"stages[0].name",
       {{"stages",
         {{{"name", "search"},
           {"learning_rate_share", 1},
           {"training", nlohmann::json::object()}}}}}},
      {"variants[0].name",
       {{"variants",
         {{{"name", "../a"}, {"models", {{{"x", 1}}}}},
          {{"name", "b"}, {"models", {{{"x", 1}}}}}}}}},
      {"scoring.steps", {{"scoring", {{"steps", -5}}}}},
      {"scoring.windows", {{"scoring", {{"windows", 0}}}}},
      {"misspelt", {{"misspelt", 1}}}};
  for (const auto& [field, patch] : patches) {
    nlohmann::json document = PaperPlan();
    document.merge_patch(patch);
    const auto plan = ParseStudyPlan(document);
    ASSERT_FALSE(plan.ok()) << field;
    EXPECT_THAT(plan.status().field(), HasSubstr(field)) << plan.status().ToString();
  }
}

TEST(StudyCells, TrialsShareLengthSeedAndFirstWeights) {
  const StudyPlan plan = *ReadStudyPlan(PlanPath("paper"));
  const auto trials = TrialCells(plan, plan.variants[2]);
  EXPECT_EQ(trials[4].name, "search/message_passing-1-1");
  const nlohmann::json& config = trials[4].config;
  EXPECT_EQ(config["model"]["network"]["local"]["message_width"], 128);
  EXPECT_EQ(config["model"]["base"], "small") << "the plan's model stays below the patch";
  EXPECT_EQ(config["training"]["learning_rate"][0]["value"], 0.001);
  for (const Cell& trial : trials) {
    EXPECT_EQ(trial.seed, 100);
    EXPECT_EQ(trial.init, "appearance/100");
    EXPECT_TRUE(trial.takes_appearance_alone);
    EXPECT_EQ(trial.config["training"]["step_count"], 450);
    EXPECT_FALSE(trial.config["training"].contains("stop_when_flat"));
    EXPECT_EQ(trial.config["training"]["weight_decay"], 0.001) << "what the plan says of all runs";
  }
}

TEST(StudyCells, StagesGoOnFromTheOneBeforeWithWhatWasChosen) {
  const StudyPlan plan = *ReadStudyPlan(PlanPath("paper"));
  const Choice choice = ChoiceOf(plan, 5);
  EXPECT_EQ(choice.model, 1u);
  EXPECT_EQ(choice.learning_rate, 0.003);
  const auto first = StageCells(plan, plan.variants[0], 0, choice);
  const auto second = StageCells(plan, plan.variants[0], 1, choice);
  ASSERT_EQ(first.size(), 5u);
  EXPECT_EQ(first[3].name, "one_step/grf_exact-3");
  EXPECT_EQ(first[3].init, "appearance/3");
  EXPECT_TRUE(first[3].takes_appearance_alone);
  EXPECT_EQ(second[3].name, "rollouts/grf_exact-3");
  EXPECT_EQ(second[3].init, "one_step/grf_exact-3");
  EXPECT_FALSE(second[3].takes_appearance_alone);
  EXPECT_EQ(first[3].config["training"]["learning_rate"][0]["value"], 0.003);
  EXPECT_NEAR(second[3].config["training"]["learning_rate"][0]["value"], 0.001, 1e-8);
  EXPECT_TRUE(first[3].config["training"].contains("stop_when_flat"));
  EXPECT_EQ(AppearanceCells(plan).size(), 6u) << "the search has its own";
}

TEST(ChooseTrial, TakesTheLowestFiniteLossAndTheFirstOfEqualOnes) {
  using Losses = std::vector<std::optional<double>>;
  EXPECT_EQ(ChooseTrial(Losses{0.3, 0.1, 0.1, 0.2}), 1u);
  EXPECT_EQ(ChooseTrial(Losses{std::nullopt, 0.3}), 1u);
  EXPECT_EQ(ChooseTrial(Losses{std::numeric_limits<double>::quiet_NaN(), 0.3}), 1u);
  EXPECT_FALSE(ChooseTrial(Losses{std::nullopt, std::nullopt}));
  EXPECT_FALSE(ChooseTrial(Losses{}));
}

TEST(ReadCell, SaysHowFarALogHasCome) {
  const TempFolder folder;
  EXPECT_FALSE(ReadCell(folder.File("none")).has_ended);
  std::ofstream log(folder.File("metrics.jsonl"));
  log << R"({"kind":"train","step":1,"cpu_seconds":9})"
      << "\n"
      << R"({"kind":"train","step":2,"cpu_seconds":1})"
      << "\n"
      << R"({"kind":"train","step":3,"cpu_seconds":2})"
      << "\n"
      << R"({"kind":"validation","step":3,"loss":0.25})"
      << "\n"
      << R"({"kind":"trai)" << std::flush;
  CellState state = ReadCell(folder.path());
  EXPECT_FALSE(state.has_ended);
  EXPECT_EQ(state.steps, 3);
  EXPECT_EQ(state.step_s, 1.5) << "of 1 and 2";
  ASSERT_EQ(state.validations.size(), 1u);
  EXPECT_EQ(state.validations[0].step, 3);
  EXPECT_EQ(state.validations[0].loss, 0.25);
  log << "\n"
      << R"({"kind":"validation","step":3,"loss":null})"
      << "\n"
      << R"({"kind":"end","step":3,"flat":true})"
      << "\n"
      << std::flush;
  state = ReadCell(folder.path());
  EXPECT_TRUE(state.has_ended && state.is_flat);
  EXPECT_FALSE(std::isfinite(state.validations.back().loss));
}

}  // namespace
}  // namespace interlacer
