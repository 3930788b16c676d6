#pragma once

/// What a planner makes small: weighted terms of a candidate's predicted steps and action rows.
///
/// A term sees the steps that were asked for, step 0 first; metres and radians. A NaN means worst.
/// Terms of particles look at those that lie in `region` at step 0 (all without one) and are NaN
/// where none does. Pure functions; threads as those of a function of one's own.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/planner/candidate_source.h"

namespace interlacer {

using CostFunction =
    std::function<double(std::span<const PredictedStep> steps, const PlanRows& rows)>;

struct CostTerm {
  std::string name;
  CostFunction value;
  double weight = 1;
  /// A constraint too: whoever exceeds it comes after all who do not.
  std::optional<double> bound{};
  /// Where all terms have one and the same, only these particles are asked for.
  std::optional<Box> region{};
};

using Region = std::optional<Box>;

/// Distance of the mean of the particles to a point, at the last step.
CostTerm ObjectToPoint(const Region& region, const Vec3d& target_m);
/// Mean distance of the particles to a box, at the last step; 0 inside.
CostTerm ObjectToBox(const Region& region, const Box& box);
/// Half the sum of both mean distances to the nearest point, of the particles, at most 4096, and
/// `goal_m` [n,3], at the last step (Chamfer).
CostTerm GoalCloud(const Region& region, std::vector<float> goal_m);
/// Mean movement of the particles from step 0 to the last.
CostTerm KeepStill(const Region& region);
/// Share of the particles that are in a box at any of the steps.
CostTerm KeepOut(const Region& region, const Box& box);
/// Mean spread of the particles at the last step; asks for OutputOptions::include_spread.
CostTerm Uncertainty(const Region& region);
/// Mean squared second difference of the action rows.
CostTerm SmoothAction();
/// Mean squared offset of the action rows from the first of them.
CostTerm SmallAction();

/// The name of Uncertainty.
inline constexpr char kUncertaintyTerm[] = "uncertainty";

}  // namespace interlacer
