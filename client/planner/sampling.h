#pragma once

/// How a planner draws candidates and what it makes of their scores. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "client/planner/candidate_source.h"
#include "common/model_metadata.h"

namespace interlacer {

/// Row r of a knot matrix lies at step (r + 1) horizon / knots.
struct KnotPath {
  int horizon = 0;
  int knots = 0;
  int action_block = 1;
  std::vector<double> start;  ///< one a column, at step 0
  std::vector<ActionColumn> columns;

  /// Action rows through the start and the knots, within what a step may change.
  PlanRows RowsOf(const PlanRows& knot_rows) const;
  /// Knots of action rows [horizon,columns].
  PlanRows KnotsOf(const PlanRows& rows) const;
};

/// Mean and deviation of the draws, [knots,columns].
struct Proposal {
  PlanRows mean, deviation;
};

/// Knots of `count` candidates, clipped to the columns' ranges; the first are the mean.
std::vector<PlanRows> DrawKnots(const Proposal& proposal, std::span<const ActionColumn> columns,
                                std::uint64_t seed, int iteration, int count);

/// Mean and deviation move to those of the best eighth, of finite scores alone; where fewer than
/// two are finite they stay.
Proposal CemUpdate(const Proposal& proposal, std::span<const PlanRows> knots,
                   std::span<const double> scores);
/// The mean becomes that weighted by exp(-score / temperature). Scores may be infinite, but not
/// all.
Proposal MppiUpdate(const Proposal& proposal, std::span<const PlanRows> knots,
                    std::span<const double> scores);

}  // namespace interlacer
