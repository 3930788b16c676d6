#pragma once

/// Runs PredictCandidates after admission: one rollout after another over one lifted scene; the
/// message of a candidate is sent before the next one begins.
///
/// Candidates share the scene, what rollouts of it compute once, and the selection of particles. A
/// prediction that is not finite fails its candidate and no other. Units of work and other errors:
/// model/rollout_runner.h. Threads: server/calls/scene_call.h.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/calls/prediction_call.h"

namespace interlacer {

class CandidatesCall final : public PredictionCall {
 public:
  /// `candidates` is not empty.
  CandidatesCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
                 std::string request_id, std::vector<ActionSequence> candidates,
                 OutputOptions output, ResponseSink* sink)
      : PredictionCall(server, std::move(record), std::move(admitted), std::move(request_id),
                       std::move(output), sink),
        candidates_(std::move(candidates)) {}

 private:
  Status OnLifted() override { return RunLifted(); }
  Status RunLifted() override;
  void FreeDeviceState() override;
  Status FinishStep(int step, std::int64_t predict_time_ns) override;

  Status Begin();
  /// Ends the present candidate with the call when `status` is not that of one candidate alone.
  Status Fail(Status status);
  void SendCandidate();

  std::vector<ActionSequence> candidates_;
  std::size_t index_ = 0;
  /// Of the present candidate.
  std::optional<RolloutRunner> runner_;
  RolloutRunner::Selection selected_;
  wire::PredictCandidatesResponse message_;
  int computed_step_count_ = 0;
};

}  // namespace interlacer
