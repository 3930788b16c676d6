#include "client/planner/backend_source.h"

#include <utility>

namespace interlacer {

ActionSequence ToActions(const PlanRows& rows) {
  return {ActionKind::kJointPositions,
          rows.row_count,
          rows.column_count,
          {rows.values.begin(), rows.values.end()}};
}

StatusOr<std::unique_ptr<CandidateSource>> RolloutBackend::OpenScene(SceneInput input) {
  return std::unique_ptr<CandidateSource>(std::make_unique<BackendSource>(this, std::move(input)));
}

BackendSource::BackendSource(RolloutBackend* backend, SceneInput input)
    : backend_(backend), input_(std::move(input)) {}

Status PredictOneByOne(std::span<const PlanRows> candidates, const RollOne& roll,
                       const CandidateCallback& on_candidate) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    CandidateOutcome outcome{static_cast<int>(i), {}, ""};
    const Status status = roll(candidates[i], [&](PredictedStep step) {
      outcome.steps.push_back(std::move(step));
      return Status::Ok();
    });
    if (!status.ok()) {
      if (status.reason() != reason::PREDICTION_NOT_FINITE) return status;
      outcome = {static_cast<int>(i), {}, status.reason()};
    }
    INTERLACER_RETURN_IF_ERROR(on_candidate(std::move(outcome)));
  }
  return Status::Ok();
}

Status BackendSource::Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                              const CandidateCallback& on_candidate, const std::stop_token& stop) {
  const auto roll = [&](const PlanRows& rows, const StepCallback& on_step) {
    return backend_->Predict(input_, ToActions(rows), output, on_step, stop).status();
  };
  return PredictOneByOne(candidates, roll, on_candidate);
}

double BackendSource::CostS(int candidate_count, int step_count) const {
  return candidate_count * (metadata().ingest_cost_s + step_count * metadata().step_cost_s);
}

}  // namespace interlacer
