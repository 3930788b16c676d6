#include "client/planner/backend_source.h"

#include <utility>

namespace interlacer {

ActionSequence ToActions(const PlanRows& rows) {
  return {ActionKind::kJointPositions,
          rows.row_count,
          rows.column_count,
          {rows.values.begin(), rows.values.end()}};
}

BackendSource::BackendSource(RolloutBackend* backend, SceneInput input)
    : backend_(backend), input_(std::move(input)) {}

Status BackendSource::Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                              const CandidateCallback& on_candidate, const std::stop_token& stop) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    CandidateOutcome outcome{static_cast<int>(i), {}, ""};
    const auto keep = [&](PredictedStep step) {
      outcome.steps.push_back(std::move(step));
      return Status::Ok();
    };
    const auto summary = backend_->Predict(input_, ToActions(candidates[i]), output, keep, stop);
    if (!summary.ok()) {
      if (summary.status().reason() != reason::PREDICTION_NOT_FINITE) return summary.status();
      outcome = {static_cast<int>(i), {}, summary.status().reason()};
    }
    INTERLACER_RETURN_IF_ERROR(on_candidate(std::move(outcome)));
  }
  return Status::Ok();
}

double BackendSource::CostS(int candidate_count, int step_count) const {
  return candidate_count * (metadata().ingest_cost_s + step_count * metadata().step_cost_s);
}

}  // namespace interlacer
