#include "evaluation/resumption.h"

#include <gtest/gtest.h>

#include "tests/evaluation/results_support.h"

namespace interlacer {
namespace {

Results Planned() {
  Results results = MakeResults(2, 2);
  results.plan = {2, -1, {}, {}};
  results.model["config_sha256"] = "def";
  return results;
}

TEST(CheckResumable, NamesTheFirstDifference) {
  const auto field_of = [](const auto& change) {
    Results now = Planned();
    change(&now);
    const Status status = CheckResumable(Planned(), now);
    EXPECT_TRUE(status.ok() || status.reason() == reason::ARGUMENT_INVALID) << status.ToString();
    return status.field();
  };
  EXPECT_EQ(field_of([](Results*) {}), "");
  EXPECT_EQ(field_of([](Results* r) { r->model["weights_sha256"] = "x"; }), "model.weights_sha256");
  EXPECT_EQ(field_of([](Results* r) { r->model["config_sha256"] = "x"; }), "model.config_sha256");
  EXPECT_EQ(field_of([](Results* r) { r->step_count = 1; }), "steps");
  EXPECT_EQ(field_of([](Results* r) { r->plan->window_count = 1; }), "windows");
  EXPECT_EQ(field_of([](Results* r) { r->plan->start_step = 1; }), "start step");
  EXPECT_EQ(field_of([](Results* r) { r->plan->input_cameras = {"a", "b"}; }), "cameras");
  EXPECT_EQ(field_of([](Results* r) { r->target_background = "none"; }), "target background");
  EXPECT_EQ(field_of([](Results* r) { r->robot_sha256 = "x"; }), "robot");
  EXPECT_EQ(field_of([](Results* r) { r->seed = 4; }), "seed");
  EXPECT_EQ(field_of([](Results* r) { r->dataset_sha256 = "x"; }), "dataset hash");
  EXPECT_EQ(field_of([](Results* r) { r->dataset_name = "x"; }), "dataset");
  EXPECT_EQ(field_of([](Results* r) { r->split = ""; }), "--split");
}

TEST(CheckResumable, AnEarlierFileIsContinuedWhereNothingContradicts) {
  Results earlier = Planned();
  earlier.plan.reset();
  earlier.model.erase("config_sha256");
  earlier.dataset_sha256 = "";
  EXPECT_TRUE(CheckResumable(earlier, Planned()).ok());
  earlier.seed = 4;
  EXPECT_EQ(CheckResumable(earlier, Planned()).field(), "seed");
}

}  // namespace
}  // namespace interlacer
