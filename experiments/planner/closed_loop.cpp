#include "experiments/planner/closed_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "common/duration.h"
#include "common/random.h"
#include "experiments/planner/ranking.h"

namespace interlacer {
namespace {

using sim::PushTrial;
using sim::TrialMotion;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Goals keep this far inside the lane in which arms can push.
constexpr double kGoalHalfX = 0.18, kGoalHalfY = 0.20;
/// Around the block, so that its edges count; the table itself does not.
constexpr double kMarginM = 0.01, kAboveTableM = 0.006;

// Draws of RandomStream::kPlanner under the seed of the scene.
constexpr std::uint32_t kGoalDraw = 0, kGuessDraw = 1;
constexpr std::uint64_t kDecisionSeeds = 1000;  ///< of proposals: one a decision

double DistanceTo(const Vec3d& goal_m, const Vec3d& at_m) {
  return std::hypot(at_m[0] - goal_m[0], at_m[1] - goal_m[1]);
}

StatusOr<Vec3d> DrawGoal(std::uint64_t seed, const Vec3d& block_m) {
  RandomSequence random(seed, RandomStream::kPlanner, kGoalDraw);
  Vec3d goal_m = block_m;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const double angle_rad = random.Uniform(-std::numbers::pi, std::numbers::pi);
    goal_m[0] = block_m[0] + kGoalDistanceM * std::cos(angle_rad);
    goal_m[1] = block_m[1] + kGoalDistanceM * std::sin(angle_rad);
    if (std::abs(goal_m[0]) < kGoalHalfX && std::abs(goal_m[1]) < kGoalHalfY) return goal_m;
  }
  return Internal("no goal in reach around the block of seed " + std::to_string(seed));
}

Box ExtentOf(const PushTrial& trial) {
  const Vec3d block_m = trial.BlockM();
  const double reach_m = trial.BlockRadiusM() + kMarginM;
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.min_m[axis] = block_m[axis] - reach_m;
    box.max_m[axis] = block_m[axis] + reach_m;
  }
  box.min_m[2] = kAboveTableM;
  return box;
}

Vec3d MeanOf(const std::vector<float>& positions_m) {
  Vec3d mean_m{};
  for (std::size_t i = 0; i < positions_m.size(); ++i) mean_m[i % 3] += positions_m[i];
  const double count = std::max(1.0, static_cast<double>(positions_m.size()) / 3);
  for (double& value : mean_m) value /= count;
  return mean_m;
}

PlanRows RowsOf(const TrialMotion& motion) {
  PlanRows rows;
  rows.row_count = static_cast<int>(motion.rows.size());
  rows.column_count = static_cast<int>(motion.rows.front().size());
  for (const auto& row : motion.rows) rows.values.insert(rows.values.end(), row.begin(), row.end());
  return rows;
}

struct Scores {
  std::vector<double> end_m;  ///< of each motion; NaN where it cannot be told
  int particle_count = 0;
};

StatusOr<Scores> ScoreByModel(const std::vector<TrialMotion>& motions, const PushTrial& trial,
                              const Vec3d& goal_m, RolloutBackend* backend,
                              const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const auto source, backend->OpenScene(trial.Observe()));
  std::vector<PlanRows> rows;
  for (const TrialMotion& motion : motions) rows.push_back(RowsOf(motion));
  OutputOptions output;
  output.steps = {0, rows.front().row_count};
  output.include_positions = true;
  output.initial_region = ExtentOf(trial);
  Scores scores{std::vector<double>(motions.size(), kNaN), 0};
  const auto take = [&](const CandidateOutcome& outcome) -> Status {
    if (outcome.steps.size() != 2) return Status::Ok();
    const std::vector<float>& first_m = outcome.steps.front().positions_m;
    scores.particle_count = static_cast<int>(first_m.size() / 3);
    if (scores.particle_count == 0) return Status::Ok();
    const Vec3d from_m = MeanOf(first_m), to_m = MeanOf(outcome.steps.back().positions_m);
    Vec3d end_m = trial.BlockM();
    for (int axis = 0; axis < 3; ++axis) end_m[axis] += to_m[axis] - from_m[axis];
    scores.end_m[static_cast<std::size_t>(outcome.index)] = DistanceTo(goal_m, end_m);
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(source->Predict(rows, output, take, stop));
  return scores;
}

double ToolDistance(const TrialMotion& motion, const Vec3d& goal_m) {
  double least_m = std::numeric_limits<double>::infinity();
  for (const sim::ToolTarget& tool : motion.tools) {
    least_m =
        std::min(least_m, std::hypot(tool.position_m[0] - goal_m[0], tool.position_m[1] - goal_m[1],
                                     tool.position_m[2] - goal_m[2]));
  }
  return least_m;
}

StatusOr<Scores> Score(Chooser chooser, const std::vector<TrialMotion>& motions, PushTrial* trial,
                       const Vec3d& goal_m, RolloutBackend* backend, const std::stop_token& stop) {
  if (chooser == Chooser::kModel) return ScoreByModel(motions, *trial, goal_m, backend, stop);
  Scores scores;
  const double here_m = DistanceTo(goal_m, trial->BlockM());
  for (const TrialMotion& motion : motions) {
    if (chooser == Chooser::kKinematic) scores.end_m.push_back(here_m);
    if (chooser == Chooser::kTool) scores.end_m.push_back(ToolDistance(motion, goal_m));
    if (chooser == Chooser::kSimulator) {
      scores.end_m.push_back(DistanceTo(goal_m, trial->Try(motion)));
    }
  }
  return scores;
}

/// The least, or 0 where none gains kWorthM against keeping still, the first.
int Choose(const std::vector<double>& end_m) {
  int chosen = 0;
  for (int i = 1; i < static_cast<int>(end_m.size()); ++i) {
    if (end_m[i] < end_m[chosen]) chosen = i;
  }
  return end_m[chosen] < end_m[0] - kWorthM ? chosen : 0;
}

}  // namespace

const std::vector<Chooser>& AllChoosers() {
  static const std::vector<Chooser> all = {Chooser::kModel,  Chooser::kKinematic,
                                           Chooser::kTool,   Chooser::kGuess,
                                           Chooser::kScript, Chooser::kSimulator};
  return all;
}

std::string NameOf(Chooser chooser) {
  switch (chooser) {
    case Chooser::kModel:
      return "model";
    case Chooser::kKinematic:
      return "kinematic";
    case Chooser::kTool:
      return "tool";
    case Chooser::kGuess:
      return "guess";
    case Chooser::kScript:
      return "script";
    case Chooser::kSimulator:
      return "simulator";
  }
  return "";
}

StatusOr<TrialResult> RunTrial(const ClosedLoopOptions& options, Chooser chooser,
                               RolloutBackend* backend, const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<PushTrial> made,
                              sim::MakePushTrial(options.sim));
  PushTrial& trial = *made;
  const std::uint64_t seed = options.sim.seed;
  TrialResult result;
  result.seed = seed;
  result.chooser = chooser;
  INTERLACER_ASSIGN_OR_RETURN(result.goal_m, DrawGoal(seed, trial.BlockM()));
  result.start_m = result.end_m = DistanceTo(result.goal_m, trial.BlockM());
  RandomSequence guesses(seed, RandomStream::kPlanner, kGuessDraw);
  for (int number = 0; number < options.decision_count; ++number) {
    if (stop.stop_requested()) return Cancelled("stopped");
    std::vector<TrialMotion> motions = {trial.Stay(options.step_count)};
    if (chooser == Chooser::kScript) {
      // A push that cannot be made is not made.
      auto push = trial.BlindPush(result.goal_m, options.step_count);
      if (push.ok() && number == 0) motions.push_back(*std::move(push));
    } else {
      for (TrialMotion& motion : trial.Propose(options.candidate_count, options.step_count,
                                               kDecisionSeeds * seed + number)) {
        motions.push_back(std::move(motion));
      }
    }
    TrialDecision decision;
    decision.predicted_m = kNaN;
    const auto start = std::chrono::steady_clock::now();
    if (motions.size() == 1) break;
    if (chooser == Chooser::kScript) {
      decision.chosen = 1;
    } else if (chooser == Chooser::kGuess) {
      decision.chosen =
          1 + static_cast<int>(guesses.Below(static_cast<std::uint32_t>(motions.size() - 1)));
    } else {
      INTERLACER_ASSIGN_OR_RETURN(const Scores scores,
                                  Score(chooser, motions, &trial, result.goal_m, backend, stop));
      decision.chosen = Choose(scores.end_m);
      decision.particle_count = scores.particle_count;
      if (chooser != Chooser::kTool) {
        decision.predicted_m = scores.end_m[static_cast<std::size_t>(decision.chosen)];
      }
    }
    decision.choose_s = SecondsSince(start);
    if (decision.chosen != 0) trial.Execute(motions[static_cast<std::size_t>(decision.chosen)]);
    result.end_m = decision.true_m = DistanceTo(result.goal_m, trial.BlockM());
    result.decisions.push_back(decision);
    if (decision.chosen == 0) break;
  }
  result.has_collided = trial.ArmCollided();
  return result;
}

}  // namespace interlacer
