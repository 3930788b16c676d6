#include "experiments/planner/closed_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <limits>
#include <mutex>
#include <numbers>
#include <string>
#include <thread>

#include "common/duration.h"
#include "common/random.h"
#include "experiments/planner/ranking.h"

namespace interlacer {
namespace {

using sim::Trial;
using sim::TrialMotion;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Goals keep this far inside the lane in which arms can push.
constexpr double kGoalHalfX = 0.18, kGoalHalfY = 0.20;
/// Around the object, so that its edges count; the table itself does not.
constexpr double kMarginM = 0.01, kAboveTableM = 0.006;

// Draws of RandomStream::kPlanner under the seed of the scene.
constexpr std::uint32_t kGoalDraw = 0, kGuessDraw = 1;
constexpr std::chrono::milliseconds kLookEvery(10);  // at the clocks of a decision's limits
constexpr std::uint64_t kDecisionSeeds = 1000;       ///< of proposals: one a decision

bool Lifts(const ClosedLoopOptions& options) { return options.sim.task == "lift_can"; }

/// Of an object's middle.
struct Goal {
  Vec3d at_m{};
  bool is_in_space = false;  ///< else its height does not count

  double DistanceTo(const Vec3d& from_m) const {
    const double up_m = is_in_space ? from_m[2] - at_m[2] : 0;
    return std::hypot(from_m[0] - at_m[0], from_m[1] - at_m[1], up_m);
  }
};

StatusOr<Goal> DrawGoal(const ClosedLoopOptions& options, const Trial& trial) {
  RandomSequence random(options.sim.seed, RandomStream::kPlanner, kGoalDraw);
  const Vec3d object_m = trial.ObjectM();
  Goal goal{object_m, Lifts(options)};
  if (goal.is_in_space) goal.at_m[2] += kLiftGoalM;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const double angle_rad = random.Uniform(-std::numbers::pi, std::numbers::pi);
    goal.at_m[0] = object_m[0] + kGoalDistanceM * std::cos(angle_rad);
    goal.at_m[1] = object_m[1] + kGoalDistanceM * std::sin(angle_rad);
    const bool is_inside =
        std::abs(goal.at_m[0]) < kGoalHalfX && std::abs(goal.at_m[1]) < kGoalHalfY;
    if (is_inside && trial.CanBring(goal.at_m)) return goal;
  }
  return Internal("no goal in reach around the object of seed " + std::to_string(options.sim.seed));
}

Box ExtentOf(const Trial& trial) {
  const Vec3d object_m = trial.ObjectM();
  const double reach_m = trial.ObjectRadiusM() + kMarginM;
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.min_m[axis] = object_m[axis] - reach_m;
    box.max_m[axis] = object_m[axis] + reach_m;
  }
  box.min_m[2] = std::max(box.min_m[2], kAboveTableM);
  return box;
}

/// Mean displacement of the particles that were seen on the object.
struct Displacement {
  Vec3d mean_m{};
  int count = 0;
};
Displacement MeanDisplacement(const Trial& trial, const std::vector<float>& from_m,
                              const std::vector<float>& to_m) {
  Displacement moved;
  for (std::size_t i = 0; i + 2 < from_m.size(); i += 3) {
    if (!trial.IsOfObject({from_m[i], from_m[i + 1], from_m[i + 2]})) continue;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      moved.mean_m[axis] += static_cast<double>(to_m[i + axis]) - from_m[i + axis];
    }
    ++moved.count;
  }
  for (double& value : moved.mean_m) value /= std::max(1, moved.count);
  return moved;
}

PlanRows RowsOf(const TrialMotion& motion) {
  PlanRows rows;
  rows.row_count = static_cast<int>(motion.rows.size());
  rows.column_count = static_cast<int>(motion.rows.front().size());
  for (const auto& row : motion.rows) rows.values.insert(rows.values.end(), row.begin(), row.end());
  return rows;
}

struct Scores {
  std::vector<double> end_m;  ///< of each motion; NaN where it cannot be told or time was over
  int particle_count = 0;
  int scored_count = 0;
};

/// Of all threads of this process.
double ProcessorS() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The end of a decision's time, which stops a prediction.
class TimeLimit {
 public:
  TimeLimit(const ClosedLoopOptions& options, const std::stop_token& outer)
      : core_start_s_(ProcessorS()),
        outer_(outer, [this] { stop_.request_stop(); }),
        timer_([this, limit_s = options.limit_s,
                core_limit_s = options.core_limit_s](const std::stop_token& over) {
          std::mutex mutex;
          std::condition_variable_any changed;
          std::unique_lock lock(mutex);
          const auto start = std::chrono::steady_clock::now();
          while (SecondsSince(start) < limit_s && core_s() < core_limit_s) {
            changed.wait_for(lock, over, kLookEvery, [] { return false; });
            if (over.stop_requested()) return;
          }
          is_over_ = true;
          stop_.request_stop();
        }) {}

  double core_s() const { return ProcessorS() - core_start_s_; }
  bool is_over() const { return is_over_; }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  const double core_start_s_;
  std::stop_source stop_;
  std::atomic<bool> is_over_{false};
  std::stop_callback<std::function<void()>> outer_;
  std::jthread timer_;
};

StatusOr<Scores> ScoreByModel(const std::vector<TrialMotion>& motions, const Trial& trial,
                              const Goal& goal, RolloutBackend* backend, const TimeLimit& limit) {
  INTERLACER_ASSIGN_OR_RETURN(const auto source, backend->OpenScene(trial.Observe()));
  std::vector<PlanRows> rows;
  for (const TrialMotion& motion : motions) rows.push_back(RowsOf(motion));
  OutputOptions output;
  output.steps = {0, rows.front().row_count};
  output.include_positions = true;
  output.initial_region = ExtentOf(trial);
  Scores scores{std::vector<double>(motions.size(), kNaN)};
  const auto take = [&](const CandidateOutcome& outcome) -> Status {
    ++scores.scored_count;
    if (outcome.steps.size() != 2) return Status::Ok();
    const Displacement moved = MeanDisplacement(trial, outcome.steps.front().positions_m,
                                                outcome.steps.back().positions_m);
    scores.particle_count = moved.count;
    if (moved.count == 0) return Status::Ok();
    Vec3d end_m = trial.ObjectM();
    for (std::size_t axis = 0; axis < 3; ++axis) end_m[axis] += moved.mean_m[axis];
    scores.end_m[static_cast<std::size_t>(outcome.index)] = goal.DistanceTo(end_m);
    return Status::Ok();
  };
  const Status predicted = source->Predict(rows, output, take, limit.token());
  // What came in time counts.
  if (!predicted.ok() && !limit.is_over()) return predicted;
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

StatusOr<Scores> Score(Chooser chooser, const std::vector<TrialMotion>& motions, Trial* trial,
                       const Goal& goal, RolloutBackend* backend, const TimeLimit& limit) {
  if (chooser == Chooser::kModel) return ScoreByModel(motions, *trial, goal, backend, limit);
  Scores scores{std::vector<double>(motions.size(), kNaN)};
  const double here_m = goal.DistanceTo(trial->ObjectM());
  for (std::size_t i = 0; i < motions.size(); ++i) {
    if (limit.token().stop_requested()) break;
    if (chooser == Chooser::kKinematic) scores.end_m[i] = here_m;
    if (chooser == Chooser::kTool) scores.end_m[i] = ToolDistance(motions[i], goal.at_m);
    if (chooser == Chooser::kSimulator) scores.end_m[i] = goal.DistanceTo(trial->Try(motions[i]));
    ++scores.scored_count;
  }
  return scores;
}

/// The least, or 0 where none gains `least_gain_m` against keeping still, the first; while that is
/// not scored, NaN, it counts as where the object is.
int Choose(std::vector<double> end_m, double here_m, double least_gain_m) {
  if (std::isnan(end_m[0])) end_m[0] = here_m;
  int chosen = 0;
  for (int i = 1; i < static_cast<int>(end_m.size()); ++i) {
    if (end_m[i] < end_m[chosen]) chosen = i;
  }
  return end_m[0] - end_m[chosen] >= least_gain_m ? chosen : 0;
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

std::optional<Chooser> ChooserNamed(const std::string& name) {
  const auto& all = AllChoosers();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](Chooser each) { return NameOf(each) == name; });
  return found == all.end() ? std::nullopt : std::optional<Chooser>(*found);
}

StatusOr<TrialResult> RunTrial(const ClosedLoopOptions& options, Chooser chooser,
                               RolloutBackend* backend, const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Trial> made, sim::MakeTrial(options.sim));
  Trial& trial = *made;
  const std::uint64_t seed = options.sim.seed;
  INTERLACER_ASSIGN_OR_RETURN(const Goal goal, DrawGoal(options, trial));
  TrialResult result;
  result.seed = seed;
  result.chooser = chooser;
  result.goal_m = goal.at_m;
  const double first_height_m = trial.ObjectM()[2];
  result.start_m = result.end_m = goal.DistanceTo(trial.ObjectM());
  RandomSequence guesses(seed, RandomStream::kPlanner, kGuessDraw);
  const auto named_gain = options.least_gain_m.find(chooser);
  const double least_gain_m =
      named_gain == options.least_gain_m.end() ? kWorthM : named_gain->second;
  for (int number = 0; number < options.decision_count; ++number) {
    if (stop.stop_requested()) return Cancelled("stopped");
    const auto start = std::chrono::steady_clock::now();
    const TimeLimit limit(options, stop);
    std::vector<TrialMotion> motions = {trial.Stay(options.step_count)};
    if (chooser == Chooser::kScript) {
      // A motion that cannot be made is not made.
      auto blind = trial.Blind(result.goal_m, options.step_count);
      if (blind.ok() && number == 0) motions.push_back(*std::move(blind));
    } else {
      for (TrialMotion& motion : trial.Propose(options.candidate_count, options.step_count,
                                               kDecisionSeeds * seed + number)) {
        motions.push_back(std::move(motion));
      }
    }
    TrialDecision decision;
    decision.predicted_m = kNaN;
    decision.motion_count = decision.scored_count = static_cast<int>(motions.size());
    if (motions.size() == 1) break;
    if (chooser == Chooser::kScript) {
      decision.chosen = 1;
    } else if (chooser == Chooser::kGuess) {
      decision.chosen =
          1 + static_cast<int>(guesses.Below(static_cast<std::uint32_t>(motions.size() - 1)));
    } else {
      INTERLACER_ASSIGN_OR_RETURN(const Scores scores,
                                  Score(chooser, motions, &trial, goal, backend, limit));
      if (stop.stop_requested()) return Cancelled("stopped");
      decision.chosen = Choose(scores.end_m, goal.DistanceTo(trial.ObjectM()), least_gain_m);
      decision.particle_count = scores.particle_count;
      decision.scored_count = scores.scored_count;
      if (chooser != Chooser::kTool) {
        decision.predicted_m = scores.end_m[static_cast<std::size_t>(decision.chosen)];
      }
    }
    decision.choose_s = SecondsSince(start);
    decision.core_s = limit.core_s();
    if (decision.chosen != 0) trial.Execute(motions[static_cast<std::size_t>(decision.chosen)]);
    result.end_m = decision.true_m = goal.DistanceTo(trial.ObjectM());
    result.decisions.push_back(decision);
    if (decision.chosen == 0) break;
  }
  result.raised_m = trial.ObjectM()[2] - first_height_m;
  result.has_collided = trial.ArmCollided();
  return result;
}

}  // namespace interlacer
