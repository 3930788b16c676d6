#include "client/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "client/planner/sampling.h"
#include "common/number_text.h"

namespace interlacer {
namespace {

/// Of the first deviation.
constexpr double kDeviationFloor = 0.05;
constexpr double kLeastGain = 0.01;
constexpr double kDefaultDeviation = 0.05;  // of a column's range

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Orders candidates: by what is over the bounds, then by cost.
struct Rank {
  double excess = kInfinity;
  double cost = kInfinity;
  bool operator<(const Rank& other) const {
    return excess != other.excess ? excess < other.excess : cost < other.cost;
  }
};

struct Scored {
  Rank rank;
  PlanRows knots, rows;
  std::vector<std::pair<std::string, double>> terms;
};

const std::vector<ActionColumn>& ColumnsOf(const CandidateSource& source,
                                           const PlannerOptions& options) {
  return options.columns.empty() ? source.metadata().action_columns : options.columns;
}

Status CheckOptions(const CandidateSource& source, const PlannerOptions& o,
                    const std::vector<double>& start, const std::optional<PlanRows>& initial) {
  const std::size_t columns = ColumnsOf(source, o).size();
  const auto at_least = [](const char* field, int least, int got) {
    return got >= least ? Status::Ok()
                        : Mismatch(reason::ARGUMENT_INVALID, field,
                                   std::to_string(least) + " or more", std::to_string(got));
  };
  INTERLACER_RETURN_IF_ERROR(at_least("horizon", 1, o.horizon));
  INTERLACER_RETURN_IF_ERROR(at_least("knots", 1, o.knots));
  INTERLACER_RETURN_IF_ERROR(at_least("iterations", 1, o.iterations));
  INTERLACER_RETURN_IF_ERROR(at_least("action_block", 1, o.action_block));
  INTERLACER_RETURN_IF_ERROR(at_least("candidate_count", 2, o.candidate_count));
  const auto as_many = [&](const char* field, std::size_t got) {
    return got == columns
               ? Status::Ok()
               : Mismatch(reason::ACTION_SHAPE, field,
                          "one number for each of " + std::to_string(columns) + " columns",
                          std::to_string(got));
  };
  INTERLACER_RETURN_IF_ERROR(as_many("start", start.size()));
  if (!o.deviation.empty()) {
    INTERLACER_RETURN_IF_ERROR(as_many("deviation", o.deviation.size()));
  }
  if (!initial) return Status::Ok();
  if (initial->row_count == o.horizon && initial->column_count == static_cast<int>(columns)) {
    return Status::Ok();
  }
  return Mismatch(
      reason::ACTION_SHAPE, "initial",
      std::to_string(o.horizon) + " rows of " + std::to_string(columns) + " columns",
      std::to_string(initial->row_count) + " of " + std::to_string(initial->column_count));
}

PlanRows RepeatedRow(const std::vector<double>& row, int count) {
  PlanRows rows{count, static_cast<int>(row.size()), {}};
  for (int r = 0; r < count; ++r) rows.values.insert(rows.values.end(), row.begin(), row.end());
  return rows;
}

class Search {
 public:
  Search(CandidateSource* source, const std::vector<CostTerm>& terms, const PlannerOptions& options,
         const std::vector<double>& start, const std::stop_token& stop)
      : source_(source),
        terms_(terms),
        options_(options),
        stop_(stop),
        path_{options.horizon, options.knots, options.action_block, start,
              ColumnsOf(*source, options)} {}

  StatusOr<Plan> Run(const std::optional<PlanRows>& initial,
                     const IterationCallback& on_iteration) {
    Plan plan;
    INTERLACER_RETURN_IF_ERROR(ChooseCount(&plan));
    const PlanRows first_deviation = RepeatedRow(FirstDeviation(), options_.knots);
    Proposal proposal{initial ? path_.KnotsOf(*initial) : RepeatedRow(path_.start, options_.knots),
                      first_deviation};
    std::vector<Rank> ranks;
    for (int iteration = 0; iteration < options_.iterations; ++iteration) {
      std::vector<PlanRows> knots =
          DrawKnots(proposal, path_.columns, options_.seed, iteration, plan.candidate_count);
      if (best_) knots[1] = best_->knots;
      INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> scores, Score(knots));
      if (std::any_of(scores.begin(), scores.end(), [](double s) { return std::isfinite(s); })) {
        proposal = options_.method == PlanMethod::kCem ? CemUpdate(proposal, knots, scores)
                                                       : MppiUpdate(proposal, knots, scores);
      }
      for (std::size_t k = 0; k < first_deviation.values.size(); ++k) {
        proposal.deviation.values[k] =
            std::max(proposal.deviation.values[k], kDeviationFloor * first_deviation.values[k]);
      }
      ranks.push_back(best_ ? best_->rank : Rank{});
      plan.best_costs.push_back(ranks.back().cost);
      if (on_iteration) on_iteration(iteration + 1, ranks.back().cost);
      if (HasStalled(ranks)) {
        AddNote("no gain above " + NumberText(100 * kLeastGain) + " % in two iterations", &plan);
        break;
      }
    }
    if (!best_) {
      return DataLoss(reason::PREDICTION_NOT_FINITE,
                      "no candidate has a prediction of finite cost");
    }
    plan.rows = best_->rows;
    plan.mean = path_.RowsOf(proposal.mean);
    plan.cost = best_->rank.cost;
    plan.excess = best_->rank.excess;
    plan.terms = best_->terms;
    if (plan.excess > 0) AddNote("bounds are exceeded by " + NumberText(plan.excess), &plan);
    return plan;
  }

 private:
  static void AddNote(const std::string& note, Plan* plan) {
    plan->note += (plan->note.empty() ? "" : "; ") + note;
  }

  std::vector<double> FirstDeviation() const {
    if (!options_.deviation.empty()) return options_.deviation;
    std::vector<double> deviation;
    for (const ActionColumn& column : path_.columns) {
      deviation.push_back(kDefaultDeviation * (column.max_value - column.min_value));
    }
    return deviation;
  }

  /// How many candidates an iteration may have.
  Status ChooseCount(Plan* plan) const {
    plan->candidate_count = options_.candidate_count;
    if (!options_.budget_s) return Status::Ok();
    const bool has_spread = OutputOfTerms(terms_, options_).include_spread;
    const int steps = options_.horizon * (has_spread ? kSpreadStepCount : 1);
    const auto cost_s = [&](int count) {
      return options_.iterations * source_->CostS(count, steps);
    };
    if (cost_s(2) > *options_.budget_s) {
      return Mismatch(reason::ARGUMENT_INVALID, "budget_s",
                      "at least " + NumberText(cost_s(2)) + " s for two candidates",
                      NumberText(*options_.budget_s));
    }
    // Costs rise with the count, of several servers in steps.
    int fits = 2, count = options_.candidate_count;
    if (cost_s(count) <= *options_.budget_s) return Status::Ok();
    while (count - fits > 1) {
      const int middle = fits + (count - fits) / 2;
      (cost_s(middle) <= *options_.budget_s ? fits : count) = middle;
    }
    plan->candidate_count = fits;
    AddNote(std::to_string(plan->candidate_count) + " of " +
                std::to_string(options_.candidate_count) + " candidates fit " +
                NumberText(*options_.budget_s) + " s",
            plan);
    return Status::Ok();
  }

  static bool HasStalled(const std::vector<Rank>& ranks) {
    if (ranks.size() < 3) return false;
    const Rank& now = ranks.back();
    const Rank& before = ranks[ranks.size() - 3];
    return now.excess == before.excess &&
           !(now.cost < before.cost - kLeastGain * std::abs(before.cost));
  }

  /// What the update goes by; the best candidate is kept. Infinite without a prediction, or of NaN;
  /// who breaks a bound comes after all who do not, by how much.
  StatusOr<std::vector<double>> Score(const std::vector<PlanRows>& knots) {
    std::vector<PlanRows> rows;
    for (const PlanRows& knot_rows : knots) rows.push_back(path_.RowsOf(knot_rows));
    std::vector<std::optional<Scored>> scored(rows.size());
    const auto on_candidate = [&](const CandidateOutcome& outcome) {
      const auto i = static_cast<std::size_t>(outcome.index);
      if (outcome.failure_reason.empty()) scored[i] = ScoreOf(outcome.steps, knots[i], rows[i]);
      return Status::Ok();
    };
    INTERLACER_RETURN_IF_ERROR(
        source_->Predict(rows, OutputOfTerms(terms_, options_), on_candidate, stop_));
    double worst_kept = 0;
    for (const auto& one : scored) {
      if (one && one->rank.excess == 0) worst_kept = std::max(worst_kept, one->rank.cost);
    }
    std::vector<double> scores;
    for (auto& one : scored) {
      const Rank rank = one ? one->rank : Rank{};
      scores.push_back(rank.excess > 0 ? worst_kept + 1 + rank.excess : rank.cost);
    }
    // By index, not by arrival: equal ranks give equal plans.
    for (auto& one : scored) {
      if (one && (!best_ || one->rank < best_->rank)) best_ = std::move(one);
    }
    return scores;
  }

  std::optional<Scored> ScoreOf(std::span<const PredictedStep> steps, const PlanRows& knots,
                                const PlanRows& rows) const {
    Scored scored{{0, 0}, knots, rows, {}};
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const double value = terms_[i].value(steps, rows);
      scored.rank.cost += terms_[i].weight * value;
      if (terms_[i].bound) scored.rank.excess += std::max(0.0, value - *terms_[i].bound);
      scored.terms.emplace_back(std::to_string(i) + " " + terms_[i].name, value);
    }
    if (!std::isfinite(scored.rank.cost + scored.rank.excess)) return std::nullopt;
    return scored;
  }

  CandidateSource* const source_;
  const std::vector<CostTerm>& terms_;
  const PlannerOptions& options_;
  const std::stop_token& stop_;
  const KnotPath path_;
  std::optional<Scored> best_;
};

}  // namespace

PlanRows Plan::Shifted(int executed_rows) const {
  PlanRows shifted = mean;
  for (int r = 0; r < mean.row_count; ++r) {
    const auto from = mean.Row(std::min(r + executed_rows, mean.row_count - 1));
    std::copy(from.begin(), from.end(), shifted.Row(r).begin());
  }
  return shifted;
}

OutputOptions OutputOfTerms(const std::vector<CostTerm>& terms, const PlannerOptions& options) {
  OutputOptions output = options.output;
  std::set<int> steps(output.steps.begin(), output.steps.end());
  steps.insert({0, options.horizon});
  output.steps.assign(steps.begin(), steps.end());
  output.include_positions = true;
  const bool is_shared = !terms.empty() && terms[0].region &&
                         std::all_of(terms.begin(), terms.end(), [&](const CostTerm& term) {
                           return term.region == terms[0].region;
                         });
  if (is_shared) output.initial_region = terms[0].region;
  for (const CostTerm& term : terms) {
    if (term.name == kUncertaintyTerm) output.include_spread = true;
  }
  return output;
}

StatusOr<Plan> MakePlan(CandidateSource* source, const std::vector<CostTerm>& terms,
                        const PlannerOptions& options, const std::vector<double>& start,
                        const std::optional<PlanRows>& initial, const std::stop_token& stop,
                        const IterationCallback& on_iteration) {
  INTERLACER_RETURN_IF_ERROR(CheckOptions(*source, options, start, initial));
  return Search(source, terms, options, start, stop).Run(initial, on_iteration);
}

}  // namespace interlacer
