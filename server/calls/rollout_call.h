#pragma once

/// Runs PredictRollout after admission: lift, then step by step. The message of a step is sent
/// before the next step is computed.
///
/// Units of work after the lift, and errors: model/rollout_runner.h. Steps sent before an error
/// stay valid. Threads: server/calls/scene_call.h.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/prediction.h"
#include "model/rollout_runner.h"
#include "server/calls/scene_call.h"

namespace interlacer {

class RolloutCall final : public SceneCall, private RolloutWriter {
 public:
  RolloutCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
              std::string request_id, ActionSequence actions, OutputOptions output,
              ResponseSink* sink)
      : SceneCall(server, std::move(record), std::move(admitted), sink),
        request_id_(std::move(request_id)),
        runner_(predictor(), std::move(actions), std::move(output), &this->record().durations,
                this) {}

 private:
  Status OnLifted() override {
    return runner_.Begin(scene(), admitted().checked.newest_capture_time_ns);
  }
  Status RunLifted() override { return runner_.RunUnit(); }
  void FreeDeviceState() override {
    runner_.Free();
    SceneCall::FreeDeviceState();
  }

  void NoteStep(double seconds) override;
  Status AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                  const DepthImage& depth) override;
  Status AddParticles(const Particles& particles, const std::vector<std::uint32_t>& selected,
                      bool needs_indices) override;
  Status FinishStep(int step, std::int64_t predict_time_ns) override;

  const std::string request_id_;
  RolloutRunner runner_;
  wire::PredictRolloutResponse message_;
};

}  // namespace interlacer
