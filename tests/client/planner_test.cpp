/// The planner finds a known optimum, keeps bounds, and plans the same twice and as Python does.

#include "client/planner/planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "client/planner/cost_file.h"
#include "client/planner/sampling.h"
#include "common/json.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr Box kObject{{0, 0, 0}, {0.2, 0.2, 0.2}};
const Region kObjectRegion(kObject);

/// Ten particles of an object that follow the first two columns of the last action row, and ten
/// that stand still. As in tests/python/test_planner.py.
class Pushed final : public CandidateSource {
 public:
  explicit Pushed(double max_step_change = 0) {
    for (const char* name : {"x_m", "y_m", "idle_m"}) {
      metadata_.action_columns.push_back({name, ActionUnit::kMeters, -1, 1, max_step_change});
    }
  }
  const ModelMetadata& metadata() const override { return metadata_; }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override {
    if (stop.stop_requested()) return Cancelled("stopped");
    counts.push_back(static_cast<int>(candidates.size()));
    asked = output;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const std::size_t i = backwards ? candidates.size() - 1 - k : k;
      const int index = static_cast<int>(i);
      if (index >= fails_from && index < fails_until) {
        INTERLACER_RETURN_IF_ERROR(on_candidate({index, {}, reason::PREDICTION_NOT_FINITE}));
        continue;
      }
      const auto last = candidates[i].Row(candidates[i].row_count - 1);
      PredictedStep start, end;
      for (int p = 0; p < 20; ++p) {
        const double offset = p < 10 ? 0 : 1;
        for (const double x : {0.05 * (p % 5) + offset, 0.1 * (p / 5 % 2) + offset, 0.1 + offset}) {
          start.positions_m.push_back(static_cast<float>(x));
        }
      }
      end.step = output.steps.back();
      end.positions_m = start.positions_m;
      for (std::size_t p = 0; p < 10; ++p) {
        for (std::size_t axis = 0; axis < 2; ++axis) {
          end.positions_m[3 * p + axis] =
              static_cast<float>(start.positions_m[3 * p + axis] + last[axis]);
        }
      }
      end.spread_m.assign(20, static_cast<float>(std::abs(last[0])));
      INTERLACER_RETURN_IF_ERROR(on_candidate({index, {start, end}, ""}));
    }
    return Status::Ok();
  }
  double CostS(int candidate_count, int step_count) const override {
    return 1 + 0.1 * ((candidate_count + server_count - 1) / server_count) * step_count;
  }

  bool backwards = false;
  int server_count = 1;
  int fails_from = 0, fails_until = 0;
  std::vector<int> counts;
  OutputOptions asked;

 private:
  ModelMetadata metadata_;
};

Plan PlanOrDie(Pushed* source, const std::vector<CostTerm>& terms, const PlannerOptions& options,
               const std::vector<double>& start = {0, 0, 0},
               const std::optional<PlanRows>& initial = {}) {
  return Must(MakePlan(source, terms, options, start, initial));
}

CostTerm Constant(double value) {
  return {"constant", [value](auto, const PlanRows&) { return value; }};
}

class PlannerMethods : public ::testing::TestWithParam<PlanMethod> {};
INSTANTIATE_TEST_SUITE_P(Methods, PlannerMethods,
                         ::testing::Values(PlanMethod::kCem, PlanMethod::kMppi),
                         [](const auto& test) {
                           return test.param == PlanMethod::kCem ? "Cem" : "Mppi";
                         });

TEST_P(PlannerMethods, TheKnownOptimumIsFound) {
  Pushed source;
  PlannerOptions options;
  options.method = GetParam();
  options.horizon = 6;
  options.iterations = 12;
  options.seed = 3;
  options.deviation = {0.3, 0.3, 0};
  // The object's middle starts at (0.1, 0.05, 0.1) and moves in the plane.
  const Plan plan = PlanOrDie(&source, {ObjectToPoint(kObjectRegion, {0.55, -0.15, 0.1})}, options);
  EXPECT_LT(plan.cost, 0.05);
  EXPECT_NEAR(plan.rows.Row(5)[0], 0.45, 0.05);
  EXPECT_NEAR(plan.rows.Row(5)[1], -0.2, 0.05);
  for (int r = 0; r < 6; ++r) EXPECT_EQ(plan.rows.Row(r)[2], 0);  // no deviation, no motion
  EXPECT_EQ(plan.best_costs.back(), plan.cost);
  EXPECT_LE(plan.cost, plan.best_costs.front());
  EXPECT_EQ(source.counts.front(), 64);
  EXPECT_EQ(source.asked.steps, (std::vector<int>{0, 6}));
  EXPECT_EQ(source.asked.initial_region, kObjectRegion);
  EXPECT_FALSE(source.asked.include_spread);
}

TEST(Planner, TheSameSeedGivesTheSamePlanInAnyOrderOfArrival) {
  CostTerm smooth = SmoothAction();
  smooth.weight = 0.1;
  const std::vector<CostTerm> terms{ObjectToPoint(kObjectRegion, {0.5, 0.2, 0.1}), smooth};
  PlannerOptions options;
  options.horizon = 4;
  options.seed = 5;
  Pushed forwards, backwards;
  backwards.backwards = true;
  const Plan first = PlanOrDie(&forwards, terms, options);
  const Plan second = PlanOrDie(&backwards, terms, options);
  EXPECT_EQ(first.rows.values, second.rows.values);
  EXPECT_EQ(first.mean.values, second.mean.values);
  EXPECT_EQ(first.terms, second.terms);
  EXPECT_EQ(first.terms[1].first, "1 smooth_action");
  options.seed = 6;
  EXPECT_NE(PlanOrDie(&forwards, terms, options).rows.values, first.rows.values);
}

TEST(Planner, RangesLargestChangesAndBlocksAreKept) {
  PlannerOptions options;
  options.horizon = 6;
  options.knots = 2;
  options.deviation = {2, 2, 2};
  options.action_block = 3;
  const std::vector<CostTerm> terms{ObjectToPoint(kObjectRegion, {9, 9, 0})};
  Pushed slow(0.1), free;
  const Plan plan = PlanOrDie(&slow, terms, options, {0.9, 0, 0});
  std::vector<double> previous{0.9, 0, 0};
  for (int r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_LE(std::abs(plan.rows.Row(r)[c] - previous[c]), 0.1 + 1e-12);
      EXPECT_LE(plan.rows.Row(r)[c], 1);
      previous[c] = plan.rows.Row(r)[c];
    }
  }
  const Plan blocks = PlanOrDie(&free, terms, options);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(blocks.rows.Row(0)[c], blocks.rows.Row(2)[c]);
    EXPECT_EQ(blocks.rows.Row(3)[c], blocks.rows.Row(5)[c]);
  }
}

TEST(Planner, BoundsComeBeforeCosts) {
  const CostTerm far = ObjectToPoint(kObjectRegion, {0.9, 0.1, 0.1});
  CostTerm still = KeepStill(kObjectRegion);
  still.weight = 0;
  still.bound = 0.3;
  PlannerOptions options;
  options.horizon = 2;
  options.iterations = 8;
  options.deviation = {0.3, 0.3, 0.3};
  Pushed source;
  const Plan bounded = PlanOrDie(&source, {far, still}, options);
  EXPECT_LE(bounded.terms[1].second, 0.3);
  EXPECT_GT(bounded.terms[1].second, 0.25);
  EXPECT_EQ(bounded.excess, 0);
  EXPECT_LT(PlanOrDie(&source, {far}, options).cost, bounded.cost);
  still.bound = -1;
  const Plan impossible = PlanOrDie(&source, {far, still}, options);
  EXPECT_THAT(impossible.note, HasSubstr("bounds are exceeded by 1"));
}

TEST(Planner, CandidatesThatFailAndCostsThatAreNanComeLast) {
  const CostTerm picky{"picky", [](auto, const PlanRows& rows) {
                         const double x = rows.Row(rows.row_count - 1)[0];
                         return x > 0 ? std::nan("") : x;
                       }};
  Pushed source;
  source.fails_from = 2;
  source.fails_until = 20;
  PlannerOptions options;
  options.horizon = 2;
  options.deviation = {0.3, 0.3, 0.3};
  EXPECT_LT(PlanOrDie(&source, {picky}, options).cost, -0.5);
  const auto none = MakePlan(&source, {Constant(std::nan(""))}, options, {0, 0, 0});
  EXPECT_EQ(none.status().reason(), reason::PREDICTION_NOT_FINITE);
}

/// Of 32 candidates four are the elite, where so many have a finite score.
TEST(CemUpdates, LeaveOutCandidatesWithoutAFiniteScore) {
  const Proposal before{{1, 1, {0.5}}, {1, 1, {2}}};
  std::vector<PlanRows> knots(32, PlanRows{1, 1, {1000}});
  std::vector<double> scores(32, std::numeric_limits<double>::infinity());
  scores[31] = std::nan("");
  const auto add = [&](std::size_t i, double value, double score) {
    knots[i].values = {value};
    scores[i] = score;
  };
  add(7, 1, 0.5);
  const Proposal same = CemUpdate(before, knots, scores);
  EXPECT_EQ(same.mean.values, before.mean.values);
  EXPECT_EQ(same.deviation.values, before.deviation.values);
  add(20, 3, 0.25);
  const Proposal two = CemUpdate(before, knots, scores);
  EXPECT_NEAR(two.mean.values[0], 0.1 * 0.5 + 0.9 * 2, kFloatSumTolerance);
  EXPECT_NEAR(two.deviation.values[0], 0.1 * 2 + 0.9 * 1, kFloatSumTolerance);
  for (const std::size_t i : {1, 2, 3}) add(i, 2, 0.1);
  EXPECT_NEAR(CemUpdate(before, knots, scores).mean.values[0],
              0.1 * 0.5 + 0.9 * (2 + 2 + 2 + 3) / 4., kFloatSumTolerance);
}

TEST(Planner, ABudgetDrawsFewerCandidatesAndSaysSo) {
  Pushed source;
  PlannerOptions options;
  options.horizon = 5;
  options.iterations = 2;
  options.candidate_count = 50;
  options.budget_s = 22;  // an iteration of n candidates takes 1 + n / 2 s
  const std::vector<CostTerm> terms{ObjectToPoint(kObjectRegion, {})};
  const Plan plan = PlanOrDie(&source, terms, options);
  EXPECT_EQ(plan.candidate_count, 20);
  EXPECT_EQ(source.counts.front(), 20);
  EXPECT_EQ(plan.note, "20 of 50 candidates fit 22 s");
  source.server_count = 4;  // as of several servers, of which the slowest share counts
  EXPECT_EQ(PlanOrDie(&source, terms, options).candidate_count, 50);
  options.budget_s = 9;
  EXPECT_EQ(PlanOrDie(&source, terms, options).candidate_count, 28);
  source.server_count = 1;
  options.budget_s = 1e6;
  EXPECT_EQ(PlanOrDie(&source, terms, options).candidate_count, 50);
  options.budget_s = 3;
  const auto refused = MakePlan(&source, terms, options, {0, 0, 0});
  EXPECT_EQ(refused.status().field(), "budget_s");
  EXPECT_THAT(refused.status().message(), HasSubstr("at least 4 s"));
}

TEST(Planner, ItStopsWithoutGainAndGoesOnFromTheLastPlan) {
  Pushed source;
  PlannerOptions options;
  options.horizon = 3;
  options.iterations = 9;
  const Plan stopped = PlanOrDie(&source, {Constant(1)}, options);
  EXPECT_EQ(stopped.best_costs.size(), 3u);
  EXPECT_THAT(stopped.note, HasSubstr("no gain"));
  options.knots = 3;
  options.iterations = 1;
  options.deviation = {0, 0, 0};
  const PlanRows initial{3, 3, {0.1, 0, 0, 0.2, 0, 0, 0.3, 0, 0}};
  const Plan plan = PlanOrDie(&source, {Constant(0)}, options, {0, 0, 0}, initial);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(plan.rows.values[i], initial.values[i], 1e-12);
  const PlanRows shifted = plan.Shifted(1);
  EXPECT_NEAR(shifted.Row(0)[0], 0.2, 1e-12);
  EXPECT_NEAR(shifted.Row(2)[0], 0.3, 1e-12);
}

TEST(Planner, WhatNoSearchCanDoIsRefused) {
  Pushed source;
  const auto refuse = [&](auto change, const std::string& field) {
    PlannerOptions options;
    change(&options);
    const auto plan = MakePlan(&source, {SmoothAction()}, options, {0, 0, 0});
    EXPECT_EQ(plan.status().field(), field);
  };
  refuse([](PlannerOptions* o) { o->horizon = 0; }, "horizon");
  refuse([](PlannerOptions* o) { o->candidate_count = 1; }, "candidate_count");
  refuse([](PlannerOptions* o) { o->knots = 0; }, "knots");
  refuse([](PlannerOptions* o) { o->action_block = 0; }, "action_block");
  refuse([](PlannerOptions* o) { o->iterations = 0; }, "iterations");
  refuse([](PlannerOptions* o) { o->deviation = {1}; }, "deviation");
  EXPECT_EQ(MakePlan(&source, {SmoothAction()}, {}, {0, 0}).status().field(), "start");
  EXPECT_EQ(MakePlan(&source, {SmoothAction()}, {}, {0, 0, 0}, PlanRows{1, 3, {0, 0, 0}})
                .status()
                .field(),
            "initial");
  EXPECT_TRUE(source.counts.empty());
}

TEST(Planner, AStopEndsTheSearch) {
  Pushed source;
  std::stop_source stop;
  const auto on_iteration = [&](int, double) { stop.request_stop(); };
  const auto plan =
      MakePlan(&source, {SmoothAction()}, {}, {0, 0, 0}, {}, stop.get_token(), on_iteration);
  EXPECT_EQ(plan.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(source.counts.size(), 1u);
}

/// Plans that the Python planner made of the same source (tests/python/test_planner.py checks that
/// it still does).
TEST(Planner, PlansAreThoseOfPython) {
  const auto golden = Must(ReadJsonFile(INTERLACER_SOURCE_DIR "/tests/golden/planner/plans.json"));
  ASSERT_EQ(golden.at("plans").size(), 2u);
  for (const auto& expected : golden.at("plans")) {
    PlannerOptions options;
    options.method = expected.at("method") == "cem" ? PlanMethod::kCem : PlanMethod::kMppi;
    options.horizon = 5;
    options.iterations = 5;
    options.candidate_count = 40;
    options.seed = 11;
    options.deviation = {0.3, 0.2, 0};
    CostTerm smooth = SmoothAction();
    smooth.weight = 0.5;
    CostTerm still = KeepStill(kObjectRegion),
             out = KeepOut(kObjectRegion, {{0.45, -1, 0}, {1, 1, 1}});
    CostTerm box = ObjectToBox(kObjectRegion, {{0.3, -0.2, 0}, {0.5, 0, 1}});
    CostTerm cloud = GoalCloud(kObjectRegion, {0.4f, -0.1f, 0.1f, 0.35f, -0.05f, 0.1f});
    CostTerm unsure = Uncertainty(kObjectRegion);
    still.weight = 0.1;
    still.bound = 0.3;
    out.weight = cloud.weight = 0.2;
    box.weight = 0.3;
    unsure.weight = 0.01;
    Pushed source(0.15);
    const Plan plan = PlanOrDie(
        &source,
        {ObjectToPoint(kObjectRegion, {0.4, -0.1, 0.1}), smooth, still, out, box, cloud, unsure},
        options);
    const auto rows = expected.at("rows").get<std::vector<double>>();
    ASSERT_EQ(plan.rows.values.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(plan.rows.values[i], rows[i], 1e-9);
    const auto mean = expected.at("mean").get<std::vector<double>>();
    for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(plan.mean.values[i], mean[i], 1e-9);
    EXPECT_NEAR(plan.cost, expected.at("cost").get<double>(), kFloatSumTolerance);
  }
}

TEST(CostTerms, HaveTheirValues) {
  PredictedStep start, end;
  start.positions_m = {0.1f, 0.1f, 0.1f, 0.1f, 0, 0.1f, 5, 5, 5};
  end.positions_m = {1, 0, 0, 3, 0, 0, 6, 5, 5};
  end.spread_m = {0.1f, 0.3f, 0.7f};
  const std::vector<PredictedStep> steps{start, end};
  const PlanRows rows{3, 1, {0, 1, 4}};
  const auto value = [&](const CostTerm& term) { return term.value(steps, rows); };
  EXPECT_NEAR(value(ObjectToPoint(kObjectRegion, {2, 0, 3})), 3, kFloatSumTolerance);
  EXPECT_NEAR(value(ObjectToPoint({}, {10 / 3., 5 / 3., 0})), 5 / 3., kFloatSumTolerance);
  EXPECT_NEAR(value(ObjectToBox(kObjectRegion, {{2, -1, -1}, {3, 1, 1}})), 0.5, kFloatSumTolerance);
  EXPECT_NEAR(value(KeepStill(Box{{4, 4, 4}, {6, 6, 6}})), 1, kFloatSumTolerance);
  EXPECT_NEAR(value(KeepOut({}, {{2, -1, -1}, {4, 1, 1}})), 1 / 3., kFloatSumTolerance);
  EXPECT_NEAR(value(KeepOut({}, {{0.05, 0.05, 0.05}, {1.5, 1, 1}})), 1 / 3., kFloatSumTolerance);
  EXPECT_NEAR(value(GoalCloud(kObjectRegion, {1, 0, 0, 1, 0, 1})), (1 + 0.5) / 2,
              kFloatSumTolerance);
  EXPECT_NEAR(value(Uncertainty(kObjectRegion)), 0.2, kFloatSumTolerance);
  EXPECT_NEAR(value(SmoothAction()), 4, kFloatSumTolerance);
  EXPECT_NEAR(value(SmallAction()), 17 / 3., kFloatSumTolerance);
  EXPECT_EQ(SmoothAction().value(steps, {2, 1, {0, 1}}), 0);
}

TEST(CostTerms, WithoutParticlesAreNan) {
  PredictedStep step;
  step.positions_m = {0, 0, 0};
  const std::vector<PredictedStep> steps{step, step};
  const Region elsewhere(Box{{7, 7, 7}, {8, 8, 8}});
  for (const CostTerm& term :
       {ObjectToPoint(elsewhere, {}), ObjectToBox(elsewhere, kObject), KeepStill(elsewhere),
        KeepOut(elsewhere, kObject), GoalCloud(elsewhere, {0, 0, 0}), Uncertainty(elsewhere)}) {
    EXPECT_TRUE(std::isnan(term.value(steps, {}))) << term.name;
  }
  // Asked for, and not sent.
  EXPECT_TRUE(std::isnan(Uncertainty({}).value(steps, {})));
}

TEST(CostTerms, AnUncertaintyAsksForSpreads) {
  EXPECT_TRUE(OutputOfTerms({SmoothAction(), Uncertainty({})}, {}).include_spread);
  // Steps with a spread cost four times as much, and a budget knows it.
  Pushed source;
  PlannerOptions options;
  options.horizon = 5;
  options.iterations = 2;
  options.candidate_count = 50;
  options.budget_s = 22;
  EXPECT_EQ(PlanOrDie(&source, {Uncertainty({})}, options).candidate_count, 5);
}

StatusOr<CostFile> Parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return ParseCosts(json, [](const std::string& path) -> StatusOr<std::vector<float>> {
    if (path == "goal.npy") return std::vector<float>{1, 2, 3};
    if (path == "empty.npy") return std::vector<float>{};
    return NotFound(reason::FILE_NOT_FOUND, path);
  });
}

std::string FileOf(const std::string& term) {
  return R"({"schema": "interlacer.cost", "schema_version": 1, "terms": [)" + term + "]}";
}

TEST(CostFiles, TermsOfAllTypesAreRead) {
  const auto file = Must(Parse(FileOf(R"(
    {"type": "object_to_point", "weight": 2, "target_m": [1, 0, 0],
     "region_min_m": [0, 0, 0], "region_max_m": [0.2, 0.2, 0.2]},
    {"type": "object_to_box", "box_min_m": [0, 0, 0], "box_max_m": [1, 1, 1]},
    {"type": "goal_cloud", "points": "goal.npy"}, {"type": "keep_still", "bound": 0.01},
    {"type": "keep_out", "box_min_m": [0, 0, 0], "box_max_m": [1, 1, 1]},
    {"type": "uncertainty"}, {"type": "smooth_action"}, {"type": "small_action"})")));
  ASSERT_EQ(file.terms.size(), 8u);
  EXPECT_EQ(file.terms[0].weight, 2);
  EXPECT_EQ(file.terms[0].region, kObjectRegion);
  EXPECT_EQ(file.terms[3].bound, 0.01);
  EXPECT_FALSE(file.terms[4].bound);
  EXPECT_TRUE(file.needs_all_steps);
}

struct BadCost {
  std::string name, text, field;
};
class BadCosts : public ::testing::TestWithParam<BadCost> {};
INSTANTIATE_TEST_SUITE_P(
    Files, BadCosts,
    ::testing::Values(
        BadCost{"Schema", R"({"schema": "x", "schema_version": 1, "terms": []})", "schema"},
        BadCost{"Version", R"({"schema": "interlacer.cost", "schema_version": 2, "terms": []})",
                "schema_version"},
        BadCost{"NoTerms", FileOf(""), "terms"},
        BadCost{"Type", FileOf(R"({"type": "nearest"})"), "terms[0].type"},
        BadCost{"UnknownKey", FileOf(R"({"type": "keep_still", "radius_m": 1})"),
                "terms[0].radius_m"},
        BadCost{"NoTarget", FileOf(R"({"type": "object_to_point"})"), "terms[0].target_m"},
        BadCost{"HalfARegion", FileOf(R"({"type": "keep_still", "region_min_m": [0, 0, 0]})"),
                "terms[0].region_max_m"},
        BadCost{"EmptyBox",
                FileOf(R"({"type": "keep_out", "box_min_m": [0, 0, 0], "box_max_m": [1, 0, 1]})"),
                "terms[0].box_max_m"},
        BadCost{"NoFile", FileOf(R"({"type": "goal_cloud", "points": "none.npy"})"),
                "terms[0].points"},
        BadCost{"NoPoints", FileOf(R"({"type": "goal_cloud", "points": "empty.npy"})"),
                "terms[0].points"}),
    [](const auto& test) { return test.param.name; });

TEST_P(BadCosts, AreRefusedWithTheirField) {
  const auto file = Parse(GetParam().text);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().field(), GetParam().field) << file.status().ToString();
}

}  // namespace
}  // namespace interlacer::testing
