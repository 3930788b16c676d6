#include "experiments/planner/closed_loop.h"

#include <gtest/gtest.h>

#include "common/json.h"

namespace interlacer {
namespace {

ClosedLoopOptions Options() {
  ClosedLoopOptions options;
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

TrialResult TrialBy(Chooser chooser, RolloutBackend* backend = nullptr) {
  auto result = RunTrial(Options(), chooser, backend, {});
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *std::move(result) : TrialResult{};
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
    const auto trial = *sim::MakePushTrial(Options().sim);
    const Vec3d block_m = trial->BlockM();
    return Vec3d{still.goal_m[0] - block_m[0], still.goal_m[1] - block_m[1], 0};
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

TEST(ClosedLoop, GuessAndScriptPush) {
  EXPECT_EQ(TrialBy(Chooser::kGuess).decisions.size(), 2u);
  const TrialResult script = TrialBy(Chooser::kScript);
  EXPECT_LE(script.decisions.size(), 1u);
  for (const TrialDecision& decision : script.decisions) EXPECT_EQ(decision.chosen, 1);
}

TEST(ClosedLoop, TextAndRecordCompareByPairs) {
  ClosedLoopStudy study;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (const Chooser chooser : {Chooser::kModel, Chooser::kTool}) {
      TrialResult trial;
      trial.seed = seed;
      trial.chooser = chooser;
      trial.start_m = 0.15;
      trial.end_m = chooser == Chooser::kModel ? 0.04 : 0.10;
      trial.decisions.push_back({1, 0.03, trial.end_m, 0.5, 40});
      study.trials.push_back(trial);
    }
  }
  const nlohmann::ordered_json json = ClosedLoopToJson(study);
  EXPECT_EQ(json["choosers"]["model"]["arrived"], 3);
  EXPECT_EQ(json["choosers"]["tool"]["arrived"], 0);
  EXPECT_NEAR(json["choosers"]["tool"]["model_minus_this_cm"]["mean"].get<double>(), -6, 1e-9);
  EXPECT_EQ(json["trials"].size(), 6u);
  EXPECT_NE(ClosedLoopText(study).find("model - tool -6.0"), std::string::npos)
      << ClosedLoopText(study);
}

}  // namespace
}  // namespace interlacer
