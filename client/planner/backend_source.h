#pragma once

/// A CandidateSource that predicts one rollout after another, on a server or in this process; each
/// candidate is lifted anew from the frames. Errors, threads: client/rollout_backend.h.

#include "client/planner/candidate_source.h"
#include "client/rollout_backend.h"

namespace interlacer {

/// Predicts the rollout of some rows.
using RollOne = std::function<Status(const PlanRows& rows, const StepCallback& on_step)>;

/// CandidateSource::Predict of rollouts, one after another.
Status PredictOneByOne(std::span<const PlanRows> candidates, const RollOne& roll,
                       const CandidateCallback& on_candidate);

class BackendSource final : public CandidateSource {
 public:
  /// `backend` must outlive the source.
  BackendSource(RolloutBackend* backend, SceneInput input);

  const ModelMetadata& metadata() const override { return backend_->metadata(); }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override;
  double CostS(int candidate_count, int step_count) const override;

 private:
  RolloutBackend* const backend_;
  const SceneInput input_;
};

}  // namespace interlacer
