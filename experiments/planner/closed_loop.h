#pragma once

/// Pushes a block to a goal in the simulator, decision by decision, and compares who decides.
///
/// In a push_block scene a goal lies kGoalDistanceM from the block. Each decision draws motions
/// from the task's script, which knows where the block is, and keeping still; a chooser takes one,
/// it is executed, and what the cameras then show is the next decision's scene. It ends when
/// keeping still is chosen or the decisions are used up. Choosers:
///   model      the end distance of the block's particles as the model predicts it: those that were
///              seen within the block's extent, moved by their mean predicted displacement
///   kinematic  the robot moves, nothing else does: no motion is better than keeping still
///   tool       how far from the goal the nearest tool ends
///   guess      one of the motions by chance, never keeping still
///   script     no choice: one push along the line through the middle of the table, which knows the
///              goal and not the block
///   simulator  the true end distance: a perfect model
/// A gain of less than kWorthM is none; a block of which the model sees no particle is left where
/// it is. Metres; the block's distances are horizontal, the tool's is not. The choice of a chooser
/// depends on seeds and its own scene alone. Errors: those of the simulator and of the backend.
/// Threads: one trial at a time per backend.

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/sim/push_trial.h"

namespace interlacer {

inline constexpr double kWorthM = 0.005;
/// A block this near to its goal has arrived.
inline constexpr double kArrivedM = 0.05;

enum class Chooser { kModel, kKinematic, kTool, kGuess, kScript, kSimulator };
/// In the order of the table above.
const std::vector<Chooser>& AllChoosers();
std::string NameOf(Chooser chooser);

struct ClosedLoopOptions {
  sim::SimulateOptions sim;  ///< the seed is that of the scene
  int decision_count = 4;
  int candidate_count = 16;
  int step_count = 10;  ///< of a motion
};

struct TrialDecision {
  int chosen = 0;          ///< 0: keeping still
  double predicted_m = 0;  ///< end distance; NaN where the chooser predicts none
  double true_m = 0;       ///< after the motion
  double choose_s = 0;     ///< wall time of the choice, without drawing motions
  int particle_count = 0;  ///< of the block, for the model
};

struct TrialResult {
  std::uint64_t seed = 0;
  Chooser chooser = Chooser::kModel;
  Vec3d goal_m{};
  double start_m = 0;  ///< distance of the block from the goal
  double end_m = 0;
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

}  // namespace interlacer
