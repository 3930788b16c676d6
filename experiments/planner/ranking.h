#pragma once

/// Scores how well a planner would choose with the model: the candidate motions of one scene are
/// ranked by their predicted and by their true outcome.
///
///   travel   how far the object goes; ranks of predicted against true distances
///   goal     how far the object ends from a goal on the table: kGoalCount goals around its first
///            place, kGoalDistanceM away, each ranked on its own, then the mean
///   choice   for each goal, the true end distance of the motion with the smallest predicted one,
///            beside the best of all candidates and their mean (a planner that guesses; so does one
///            that predicts by the robot's motion alone, which moves no object)
///   tool     the same ranks and choice without a model: by how far from the goal the robot's
///   nearest
///            tool ends
/// Ranks are compared by Spearman's coefficient, ties sharing their mean rank; it is absent where
/// one side has no two different values. Metres; distances are horizontal. Pure functions,
/// thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

inline constexpr int kGoalCount = 8;
inline constexpr double kGoalDistanceM = 0.15;

/// Outcome of one motion: the mean displacement of the object's particles.
struct MotionOutcome {
  std::string episode;
  Vec3d predicted_m{};
  Vec3d true_m{};
  int particle_count = 0;  ///< that show the object
  /// Where the robot's tools end as commanded, from the object's first place on.
  std::vector<Vec3d> tools_m{};
};

struct SceneRanking {
  std::string scene;
  std::vector<MotionOutcome> motions;
  std::optional<double> travel_correlation;
  std::optional<double> goal_correlation;
  std::optional<double> tool_goal_correlation;
  double chosen_m = 0;
  std::optional<double> tool_chosen_m;  ///< absent where a motion has no tools
  double best_m = 0;
  double guessed_m = 0;
  double mean_error_m = 0;  ///< of the predicted displacement
};

/// Absent for fewer than two values or for a side that never changes. Lists of one length.
std::optional<double> SpearmanCorrelation(std::span<const double> a, std::span<const double> b);

/// At least one motion.
SceneRanking RankMotions(std::string scene, std::vector<MotionOutcome> motions);

}  // namespace interlacer
