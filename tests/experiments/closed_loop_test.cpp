#include "experiments/planner/closed_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/json.h"
#include "experiments/planner/trial_journal.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

ClosedLoopOptions Options(const char* task = "push_block") {
  ClosedLoopOptions options;
  options.sim.task = task;
  options.limit_s = 600;
  options.sim.split = sim::Split::kTest;
  options.sim.seed = 45000;
  options.sim.width_px = options.sim.height_px = 64;
  options.decision_count = 2;
  options.candidate_count = 6;
  return options;
}

/// Predicts two particles of the region: they keep still, but that candidate `pushed` brings them
/// `shift_m`.
class ShiftingBackend : public RolloutBackend {
 public:
  ShiftingBackend(int pushed, Vec3d shift_m) : pushed_(pushed), shift_m_(shift_m) {}
  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return word_; }
  const std::string& location() const override { return word_; }
  StatusOr<RolloutSummary> Predict(const SceneInput&, const ActionSequence&,
                                   const OutputOptions& output, const StepCallback& on_step,
                                   std::stop_token) override {
    const bool is_pushed = call_++ == pushed_;
    for (const int number : output.steps) {
      PredictedStep step;
      step.step = number;
      for (const Vec3d& corner_m : {output.initial_region->min_m, output.initial_region->max_m}) {
        for (int axis = 0; axis < 3; ++axis) {
          const double moved_m = number > 0 && is_pushed ? shift_m_[axis] : 0;
          step.positions_m.push_back(static_cast<float>(corner_m[axis] + moved_m));
        }
      }
      INTERLACER_RETURN_IF_ERROR(on_step(std::move(step)));
    }
    return RolloutSummary{};
  }

 private:
  int pushed_;
  Vec3d shift_m_;
  int call_ = 0;
  ModelMetadata metadata_;
  std::string word_ = "test";
};

TrialResult TrialBy(Chooser chooser, RolloutBackend* backend = nullptr,
                    const ClosedLoopOptions& options = Options()) {
  return Must(RunTrial(options, chooser, backend, {}));
}

TEST(ClosedLoop, APerfectModelComesNearer) {
  const TrialResult result = TrialBy(Chooser::kSimulator);
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_LT(result.end_m, result.start_m - kWorthM);
  for (const TrialDecision& decision : result.decisions) {
    EXPECT_NEAR(decision.predicted_m, decision.true_m, 1e-9);
  }
}

TEST(ClosedLoop, WhoMovesNoObjectKeepsStill) {
  const TrialResult result = TrialBy(Chooser::kKinematic);
  ASSERT_EQ(result.decisions.size(), 1u);
  EXPECT_EQ(result.decisions.front().chosen, 0);
  EXPECT_EQ(result.end_m, result.start_m);
}

TEST(ClosedLoop, TheModelsBestIsTaken) {
  const TrialResult still = TrialBy(Chooser::kKinematic);
  const Vec3d towards_m = [&] {
    const auto trial = *sim::MakeTrial(Options().sim);
    const Vec3d object_m = trial->ObjectM();
    return Vec3d{still.goal_m[0] - object_m[0], still.goal_m[1] - object_m[1], 0};
  }();
  ShiftingBackend pushes(3, towards_m);
  const TrialResult result = TrialBy(Chooser::kModel, &pushes);
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_EQ(result.decisions.front().chosen, 3);
  EXPECT_NEAR(result.decisions.front().predicted_m, 0, 1e-6);
  EXPECT_EQ(result.decisions.front().particle_count, 2);

  ShiftingBackend away(3, {-towards_m[0], -towards_m[1], 0});
  EXPECT_EQ(TrialBy(Chooser::kModel, &away).decisions.front().chosen, 0);
}

TEST(ClosedLoop, AMotionMustGainWhatIsAskedOfItsChooser) {
  ClosedLoopOptions options = Options();
  const TrialResult pushed = TrialBy(Chooser::kSimulator, nullptr, options);
  const double gain_m = pushed.start_m - pushed.decisions.front().predicted_m;
  options.least_gain_m[Chooser::kSimulator] = gain_m + 1e-3;
  const TrialResult still = TrialBy(Chooser::kSimulator, nullptr, options);
  ASSERT_EQ(still.decisions.size(), 1u);
  EXPECT_EQ(still.decisions.front().chosen, 0);
  options.least_gain_m = {{Chooser::kSimulator, gain_m - 1e-3}, {Chooser::kModel, 1.0}};
  EXPECT_NE(TrialBy(Chooser::kSimulator, nullptr, options).decisions.front().chosen, 0);
}

TEST(ClosedLoop, GuessAndScriptPush) {
  EXPECT_EQ(TrialBy(Chooser::kGuess).decisions.size(), 2u);
  const TrialResult script = TrialBy(Chooser::kScript);
  EXPECT_LE(script.decisions.size(), 1u);
  for (const TrialDecision& decision : script.decisions) EXPECT_EQ(decision.chosen, 1);
}

ClosedLoopOptions LiftOptions() {
  ClosedLoopOptions options = Options("lift_can");
  options.step_count = 12;
  options.candidate_count = 12;
  return options;
}

TEST(ClosedLoop, APerfectModelLiftsACan) {
  const TrialResult result = TrialBy(Chooser::kSimulator, nullptr, LiftOptions());
  ASSERT_FALSE(result.decisions.empty());
  EXPECT_NEAR(result.start_m, std::hypot(0.15, kLiftGoalM), 1e-3);  // beside the can and above
  EXPECT_LT(result.end_m, result.start_m - kWorthM);
  EXPECT_GE(result.raised_m, kLiftedM);
  EXPECT_LE(TrialBy(Chooser::kKinematic, nullptr, LiftOptions()).raised_m, 1e-3);
}

/// Waits before each rollout until it is told to stop or its time is over.
class SlowBackend : public ShiftingBackend {
 public:
  SlowBackend() : ShiftingBackend(2, {0, 0, 0.1}) {}
  StatusOr<RolloutSummary> Predict(const SceneInput& scene, const ActionSequence& actions,
                                   const OutputOptions& output, const StepCallback& on_step,
                                   std::stop_token stop) override {
    for (; call_count_ >= 2 && !stop.stop_requested();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++call_count_;
    if (stop.stop_requested()) return Cancelled("stopped");
    return ShiftingBackend::Predict(scene, actions, output, on_step, stop);
  }

 private:
  int call_count_ = 0;
};

/// What was scored in time counts, and a caller's stop is not taken for the end of the time.
TEST(ClosedLoop, ADecisionEndsWithItsTime) {
  ClosedLoopOptions options = Options();
  options.limit_s = 0.5;
  SlowBackend slow;
  const TrialResult result = TrialBy(Chooser::kModel, &slow, options);
  ASSERT_EQ(result.decisions.size(), 1u);
  EXPECT_EQ(result.decisions.front().scored_count, 2);
  EXPECT_EQ(result.decisions.front().motion_count, 7);
  EXPECT_EQ(result.decisions.front().chosen, 0);
  EXPECT_GE(result.decisions.front().choose_s, options.limit_s);

  options.limit_s = 600;
  options.core_limit_s = 0;
  SlowBackend none;
  const TrialResult no_time = TrialBy(Chooser::kModel, &none, options);
  EXPECT_LT(no_time.decisions.front().scored_count, 7);
  EXPECT_GT(no_time.decisions.front().core_s, 0);

  std::stop_source stop;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  EXPECT_EQ(RunTrial(Options(), Chooser::kModel, &slow, stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

TEST(ClosedLoop, AJournalGoesOnWithItsStudyAlone) {
  const TempFolder folder;
  const std::filesystem::path path = folder.File("journal.jsonl");
  ClosedLoopStudy study;
  study.options = Options();
  TrialResult trial;
  trial.seed = 45001;
  trial.chooser = Chooser::kTool;
  trial.goal_m = {0.1, 0.2, 0.3};
  trial.end_m = 0.125;
  trial.raised_m = 0.0625;
  trial.has_collided = true;
  trial.decisions.push_back({3, std::nan(""), 0.125, 0.5, 0.75, 40, 17, 16});
  {
    auto journal = Must(TrialJournal::Open(path, study));
    ASSERT_TRUE(journal.Add(trial).ok());
  }
  std::ofstream(path, std::ios::app) << "{\"seed\": 45002, \"choo";  // cut off while writing
  {
    auto journal = Must(TrialJournal::Open(path, study));
    const auto found = journal.Find(45001, Chooser::kTool);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(TrialToJson(*found), TrialToJson(trial));
    EXPECT_FALSE(journal.Find(45001, Chooser::kModel).has_value());
    EXPECT_FALSE(journal.Find(45002, Chooser::kTool).has_value());
    trial.seed = 45002;
    ASSERT_TRUE(journal.Add(trial).ok());
  }
  EXPECT_TRUE(TrialJournal::Open(path, study)->Find(45002, Chooser::kTool).has_value());
  std::string whole;
  std::getline(std::ifstream(path), whole);
  for (const std::string& begun : {std::string(), whole.substr(0, 10)}) {  // cut off at once
    std::ofstream(path) << begun;
    ASSERT_TRUE(Must(TrialJournal::Open(path, study)).Add(trial).ok());
    EXPECT_TRUE(TrialJournal::Open(path, study)->Find(45002, Chooser::kTool).has_value());
  }
  study.options.limit_s = 5;
  EXPECT_EQ(TrialJournal::Open(path, study).status().reason(), reason::ARGUMENT_INVALID);
}

TEST(ClosedLoop, TextAndRecordCompareByPairs) {
  ClosedLoopStudy study;
  study.options = LiftOptions();
  study.options.least_gain_m = {{Chooser::kModel, 0.04}};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (const Chooser chooser : {Chooser::kModel, Chooser::kTool}) {
      TrialResult trial;
      trial.seed = seed;
      trial.chooser = chooser;
      trial.start_m = 0.15;
      trial.end_m = chooser == Chooser::kModel ? 0.04 : 0.10;
      trial.raised_m = chooser == Chooser::kModel ? kLiftedM : 0;
      trial.decisions.push_back({1, 0.03, trial.end_m, 0.5, 0.75, 40, 17, seed == 0 ? 5 : 17});
      study.trials.push_back(trial);
    }
  }
  const nlohmann::ordered_json json = ClosedLoopToJson(study);
  EXPECT_EQ(json["split"], "test");
  EXPECT_EQ(json["least_gain_m"], nlohmann::json({{"model", 0.04}}));
  EXPECT_EQ(json["choosers"]["model"]["arrived"], 3);
  EXPECT_EQ(json["choosers"]["tool"]["arrived"], 0);
  EXPECT_EQ(json["choosers"]["model"]["lifted"], 3);
  EXPECT_EQ(json["choosers"]["tool"]["lifted"], 0);
  EXPECT_EQ(json["choosers"]["model"]["cut_short"], 1);
  EXPECT_NEAR(json["choosers"]["tool"]["model_minus_this_cm"]["mean"].get<double>(), -6, 1e-9);
  EXPECT_EQ(json["trials"].size(), 6u);
  EXPECT_NE(ClosedLoopText(study).find("model - tool -6.0"), std::string::npos)
      << ClosedLoopText(study);
  EXPECT_NE(ClosedLoopText(study).find("lifted 3"), std::string::npos);
  EXPECT_NE(ClosedLoopText(study).find("cut short 1 of 3"), std::string::npos);
}

}  // namespace
}  // namespace interlacer
