#pragma once

/// PredictRollout after admission: lift, then step by step; a step's message leaves before the next
/// step is computed.
///
/// Units of work: one lift, one dynamics step, one tile of rows of one view. Threads:
/// server/calls/scene_call.h. Errors: those of the engine; DATA_LOSS PREDICTION_NOT_FINITE, after
/// which the steps already sent stay valid.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/prediction.h"
#include "server/calls/scene_call.h"

namespace interlacer {

class RolloutCall final : public SceneCall {
 public:
  RolloutCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
              std::string request_id, ActionSequence actions, OutputOptions output,
              ResponseSink* sink)
      : SceneCall(server, std::move(record), std::move(admitted), sink),
        request_id_(std::move(request_id)),
        actions_(std::move(actions)),
        output_(std::move(output)) {}

 private:
  Status OnLifted() override;
  Status RunLifted() override;
  void FreeDeviceState() override;

  bool IsSent(int step) const;
  int last_step() const { return output_.steps.back(); }
  Status Step();
  Status RenderTile();
  Status StartView();
  Status FinishView();
  bool SendsParticles() const { return output_.include_positions || output_.include_colors; }
  /// Sends the present step when it was asked for and its views are done.
  Status SendIfComplete();
  Status AddParticles();
  void FillSummary(wire::CallSummary* summary);

  const std::string request_id_;
  const ActionSequence actions_;
  const OutputOptions output_;

  std::unique_ptr<Rollout> rollout_;
  std::vector<std::uint32_t> selected_;
  wire::PredictRolloutResponse message_;
  int computed_steps_ = 0;
  bool is_first_message_ = true;

  /// The view being rendered: which, from where, and the rows so far.
  std::size_t view_index_ = 0;
  int next_row_ = 0;
  Camera view_camera_;
  FloatImage view_color_;
  DepthImage view_depth_;
};

}  // namespace interlacer
