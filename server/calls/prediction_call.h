#pragma once

/// Common part of PredictRollout and PredictCandidates: fills the wire message of one step from the
/// results of a rollout. Threads: server/calls/scene_call.h.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/prediction.h"
#include "model/rollout_runner.h"
#include "server/calls/scene_call.h"

namespace interlacer {

class PredictionCall : public SceneCall, protected RolloutWriter {
 protected:
  PredictionCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
                 std::string request_id, OutputOptions output, ResponseSink* sink)
      : SceneCall(server, std::move(record), std::move(admitted), sink),
        request_id_(std::move(request_id)),
        output_(std::move(output)) {}

  const std::string& request_id() const { return request_id_; }
  const OutputOptions& output() const { return output_; }
  /// The finished step, after which the next one is filled.
  wire::PredictedStep TakeStep(int step, std::int64_t predict_time_ns);
  void DropStep() { step_.Clear(); }
  /// Completes the summary of the runner with what the call knows.
  void Summarize(RolloutSummary summary, wire::CallSummary* message) const;

  void NoteStep(double seconds, bool asked_network) override;
  void NoteView(std::int64_t pixel_count, double carry_s, double rows_s) override;
  Status AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                  const DepthImage& depth) override;
  Status AddParticles(const Particles& particles, const std::vector<std::uint32_t>& selected,
                      bool needs_indices) override;

 private:
  const std::string request_id_;
  const OutputOptions output_;
  wire::PredictedStep step_;
};

}  // namespace interlacer
