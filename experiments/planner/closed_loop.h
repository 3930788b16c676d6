#pragma once

/// Brings an object to a goal in the simulator, decision by decision, and compares who decides.
///
/// push_block: a block, to a place kGoalDistanceM beside it on the table; distances are horizontal.
/// lift_can: a can, to a place kGoalDistanceM beside it and kLiftGoalM above it; distances are in
/// space. Each decision draws motions from the task's script (data/sim/trial.h) and keeping still;
/// a chooser takes one, it is executed, and what the cameras then show is the next decision's
/// scene. It ends when keeping still is chosen or the decisions are used up. Choosers:
///   model      the end distance of the object's particles as the model predicts it: those that
///              were seen within its extent, moved by their mean predicted displacement
///   kinematic  the robot moves, nothing else does: no motion is better than keeping still
///   tool       how far from the goal the nearest tool ends
///   guess      one of the motions by chance, never keeping still
///   script     no choice: one push or grasp at the middle of the table, which knows the goal and
///              not the object
///   simulator  the true end distance: a perfect model
/// A motion is taken if it is predicted to gain least_gain_m; an object of which the model sees no
/// particle is left where it is. A decision has limit_s and core_limit_s from the drawing of
/// motions on: what is not scored by then is not chosen. Metres. The choice of a chooser that keeps
/// to its limit depends on seeds and its own scene alone. Errors: those of the simulator and of the
/// backend. Threads: one trial at a time per backend.

#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/sim/trial.h"

namespace interlacer {

/// A predicted gain of less is none, unless options say otherwise.
inline constexpr double kWorthM = 0.005;
/// An object this near to its goal has arrived.
inline constexpr double kArrivedM = 0.05;
/// Of a can, above where its middle stood at first.
inline constexpr double kLiftGoalM = 0.15, kLiftedM = 0.05;

enum class Chooser { kModel, kKinematic, kTool, kGuess, kScript, kSimulator };
/// In the order of the table above.
const std::vector<Chooser>& AllChoosers();
std::string NameOf(Chooser chooser);
std::optional<Chooser> ChooserNamed(const std::string& name);

struct ClosedLoopOptions {
  sim::SimulateOptions sim;  ///< the seed is that of the scene
  int decision_count = 4;
  int candidate_count = 16;
  int step_count = 10;  ///< of a motion
  double limit_s = 10;  ///< of a decision
  /// And in processor time of this process, which a busy machine stretches less: 10 s of two cores
  /// are 20 s of it. Predictions of a server take none.
  double core_limit_s = std::numeric_limits<double>::infinity();
  /// Of a motion against keeping still, as the chooser predicts it; kWorthM for those not named.
  std::map<Chooser, double> least_gain_m;
};

struct TrialDecision {
  int chosen = 0;          ///< 0: keeping still
  double predicted_m = 0;  ///< end distance; NaN where the chooser predicts none
  double true_m = 0;       ///< after the motion
  double choose_s = 0;     ///< wall time of the decision, with drawing motions
  double core_s = 0;       ///< processor time of it
  int particle_count = 0;  ///< of the object, for the model
  int motion_count = 0;    ///< that were drawn, with keeping still
  int scored_count = 0;    ///< of them, within the limit
};

struct TrialResult {
  std::uint64_t seed = 0;
  Chooser chooser = Chooser::kModel;
  Vec3d goal_m{};
  double start_m = 0;  ///< distance of the object from the goal
  double end_m = 0;
  double raised_m = 0;  ///< the object's middle, above where it was at first
  bool has_collided = false;
  std::vector<TrialDecision> decisions;
};

/// `backend` predicts for Chooser::kModel.
StatusOr<TrialResult> RunTrial(const ClosedLoopOptions& options, Chooser chooser,
                               RolloutBackend* backend, const std::stop_token& stop);

struct ClosedLoopStudy {
  ClosedLoopOptions options;
  std::string model;  ///< name and digest of the weights
  std::string command;
  std::string created_time;
  std::vector<TrialResult> trials;
};

/// Means over scenes with intervals, and of the model against each other chooser, by pairs.
std::string ClosedLoopText(const ClosedLoopStudy& study);
nlohmann::ordered_json ClosedLoopToJson(const ClosedLoopStudy& study);

nlohmann::ordered_json TrialToJson(const TrialResult& trial);
/// INVALID_ARGUMENT SCHEMA_INVALID for anything that TrialToJson does not write.
StatusOr<TrialResult> TrialFromJson(const nlohmann::json& json);

}  // namespace interlacer
