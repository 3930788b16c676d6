#pragma once

/// Runs PredictRollout after admission: lift, then step by step. The message of a step is sent
/// before the next step is computed.
///
/// Units of work after the lift, and errors: model/rollout_runner.h. Steps sent before an error
/// stay valid. Threads: server/calls/scene_call.h.

#include <string>
#include <utility>

#include "server/calls/prediction_call.h"

namespace interlacer {

class RolloutCall final : public PredictionCall {
 public:
  RolloutCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
              std::string request_id, ActionSequence actions, OutputOptions output_options,
              ResponseSink* sink)
      : PredictionCall(server, std::move(record), std::move(admitted), std::move(request_id),
                       std::move(output_options), sink),
        runner_(predictor(), std::move(actions), output(), &this->record().durations, this) {}

 private:
  Status OnLifted() override {
    return runner_.Begin(scene(), admitted().checked.newest_capture_time_ns);
  }
  Status RunLifted() override { return runner_.RunUnit(); }
  void FreeDeviceState() override {
    runner_.Free();
    SceneCall::FreeDeviceState();
  }
  Status FinishStep(int step, std::int64_t predict_time_ns) override;

  RolloutRunner runner_;
};

}  // namespace interlacer
