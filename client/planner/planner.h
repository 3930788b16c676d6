#pragma once

/// Searches an action sequence whose predicted outcome costs little: CEM or MPPI over knots.
///
/// Rows are drawn around a mean at a few knots, straight in between and from where the robot is,
/// within range and largest change of each column. Candidate 0 is the mean, candidate 1 the best so
/// far. The same seed, source and costs give the same plan, here and in Python. Threads: one search
/// at a time per source. Errors: those of the source; INVALID_ARGUMENT ARGUMENT_INVALID or
/// ACTION_SHAPE naming the option; DATA_LOSS PREDICTION_NOT_FINITE where no candidate has a finite
/// cost; CANCELLED. Source: cem; mppi.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client/planner/candidate_source.h"
#include "client/planner/cost_terms.h"

namespace interlacer {

enum class PlanMethod { kCem, kMppi };

struct PlannerOptions {
  PlanMethod method = PlanMethod::kCem;
  int horizon = 8;  ///< model steps
  int candidate_count = 64;
  int iterations = 4;
  int knots = 4;
  int action_block = 1;  ///< model steps for which a row is held
  std::uint64_t seed = 0;
  /// Of the first draws, one a column; empty: 5 % of each column's range.
  std::vector<double> deviation;
  /// Of the scene's robot; empty: those of the model's.
  std::vector<ActionColumn> columns;
  /// Steps and views that functions of one's own need beside what the terms ask for.
  OutputOptions output;
  /// Seconds of expected cost (CandidateSource::CostS); fewer candidates are drawn within it.
  std::optional<double> budget_s;
};

struct Plan {
  PlanRows rows;  ///< the best found, one a model step
  PlanRows mean;  ///< what the search came to
  double cost = 0;
  double excess = 0;                                  ///< by which the best exceeds bounds
  std::vector<std::pair<std::string, double>> terms;  ///< values of the best, without weights
  std::vector<double> best_costs;                     ///< after each iteration
  int candidate_count = 0;                            ///< of an iteration
  std::string note;                                   ///< what a user should know, or ""

  /// The mean after some rows were executed, its last row held: `initial` of the next plan.
  PlanRows Shifted(int executed_rows) const;
};

/// After each iteration: its number from 1, and the best cost so far.
using IterationCallback = std::function<void(int iteration, double best_cost)>;

/// From the row `start`, where the robot is. `initial` [horizon,columns] is the first mean, by
/// default staying there.
StatusOr<Plan> MakePlan(CandidateSource* source, const std::vector<CostTerm>& terms,
                        const PlannerOptions& options, const std::vector<double>& start,
                        const std::optional<PlanRows>& initial = {},
                        const std::stop_token& stop = {},
                        const IterationCallback& on_iteration = {});

/// What these terms need: step 0 and the last; positions; one region where all terms share it.
OutputOptions OutputOfTerms(const std::vector<CostTerm>& terms, const PlannerOptions& options);

}  // namespace interlacer
