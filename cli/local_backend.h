#pragma once

/// A RolloutBackend that runs a checkpoint in this process, as a server does but without the
/// socket.
///
/// Units of work, order and packing of results are the server's, so both give equal numbers.
/// Compression of views matters on the wire only: local views are what was rendered, except that
/// JPEG ones pass through the encoder too. Contract, errors, threads: client/rollout_backend.h.

#include <memory>
#include <string>

#include "client/rollout_backend.h"
#include "model/predictor.h"

namespace interlacer {

/// What becomes of rows that move a joint farther in a step than commands may ask for
/// (common/step_changes.h).
enum class StepChanges {
  kAsServed,    ///< refused, as by a server
  kAsRecorded,  ///< the finding ACTION_JUMP: recorded and simulated motions have happened
};

class LocalBackend : public RolloutBackend {
 public:
  explicit LocalBackend(std::unique_ptr<Predictor> predictor,
                        StepChanges changes = StepChanges::kAsServed);

  const ModelMetadata& metadata() const override { return predictor_->metadata(); }
  const std::string& device_name() const override { return predictor_->device_name(); }
  const std::string& location() const override { return location_; }
  StatusOr<RolloutSummary> Predict(const SceneInput& input, const ActionSequence& actions,
                                   const OutputOptions& output, const StepCallback& on_step,
                                   std::stop_token stop) override;
  /// Lifts once for all candidates.
  StatusOr<std::unique_ptr<CandidateSource>> OpenScene(SceneInput input) override;

 private:
  const std::unique_ptr<Predictor> predictor_;
  const StepChanges changes_;
  const std::string location_ = "local";
};

}  // namespace interlacer
