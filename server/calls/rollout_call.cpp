#include "server/calls/rollout_call.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "common/same_view.h"
#include "common/time_units.h"
#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {
namespace {

/// Rows of one unit of rendering: small enough that a cancel is noticed soon.
constexpr int kTileRows = 16;

/// Adds its life to a stage of the call.
class StageTimer {
 public:
  explicit StageTimer(double* stage_s) : stage_s_(stage_s) {}
  ~StageTimer() { *stage_s_ += seconds(); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  double* const stage_s_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

Status RolloutCall::OnLifted() {
  {
    const StageTimer timer(&record().durations.lift_s);
    INTERLACER_ASSIGN_OR_RETURN(rollout_, engine().Begin(scene(), actions_));
  }
  INTERLACER_ASSIGN_OR_RETURN(selected_, SelectParticles(*rollout_, output_));
  return SendIfComplete();
}

Status RolloutCall::RunLifted() {
  const bool has_view = IsSent(rollout_->step()) && view_index_ < output_.render_targets.size();
  INTERLACER_RETURN_IF_ERROR(has_view ? RenderTile() : Step());
  return SendIfComplete();
}

void RolloutCall::FreeDeviceState() { rollout_.reset(); }

bool RolloutCall::IsSent(int step) const {
  return std::binary_search(output_.steps.begin(), output_.steps.end(), step);
}

Status RolloutCall::Step() {
  const StageTimer timer(&record().durations.dynamics_s);
  INTERLACER_RETURN_IF_ERROR(rollout_->Step());
  ++computed_steps_;
  view_index_ = 0;
  server().metrics.CountStep(record().model_name, timer.seconds());
  return Status::Ok();
}

Status RolloutCall::StartView() {
  const RenderTarget& target = output_.render_targets[view_index_];
  if (target.camera) {
    view_camera_ = *target.camera;
  } else {
    INTERLACER_ASSIGN_OR_RETURN(view_camera_, rollout_->SceneCamera(target.scene_camera_name));
    view_camera_.distortion_model = DistortionModel::kNone;
    view_camera_.distortion_coefficients.clear();
  }
  view_color_ = {view_camera_.width_px, 0, 3, {}};
  view_depth_ = {view_camera_.width_px, 0, {}};
  next_row_ = 0;
  return Status::Ok();
}

Status RolloutCall::RenderTile() {
  const StageTimer timer(&record().durations.render_s);
  if (next_row_ == 0) INTERLACER_RETURN_IF_ERROR(StartView());
  const int row_end = std::min(next_row_ + kTileRows, view_camera_.height_px);
  FloatImage color;
  DepthImage depth;
  INTERLACER_RETURN_IF_ERROR(
      rollout_->RenderRows(view_camera_, next_row_, row_end, &color, &depth));
  view_color_.pixels.insert(view_color_.pixels.end(), color.pixels.begin(), color.pixels.end());
  view_depth_.pixels_m.insert(view_depth_.pixels_m.end(), depth.pixels_m.begin(),
                              depth.pixels_m.end());
  next_row_ = row_end;
  if (next_row_ < view_camera_.height_px) return Status::Ok();
  return FinishView();
}

Status RolloutCall::FinishView() {
  const StageTimer timer(&record().durations.encode_s);
  view_color_.height_px = view_camera_.height_px;
  view_depth_.height_px = view_camera_.height_px;
  server().metrics.CountPixels(record().model_name,
                               std::int64_t{view_camera_.width_px} * view_camera_.height_px);
  const std::vector<RenderTarget>& targets = output_.render_targets;
  do {
    INTERLACER_RETURN_IF_ERROR(PackView(targets[view_index_], view_color_, view_depth_,
                                        message_.mutable_step()->add_images()));
    ++view_index_;
  } while (view_index_ < targets.size() &&
           ShowSameView(targets[view_index_ - 1], targets[view_index_]));
  next_row_ = 0;
  return Status::Ok();
}

Status RolloutCall::AddParticles() {
  INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, rollout_->ReadParticles());
  wire::ParticleCloud* cloud = message_.mutable_step()->mutable_particles();
  INTERLACER_RETURN_IF_ERROR(PackParticles(*particles, rollout_->step(), selected_, output_,
                                           admitted().checked.workspace, cloud));
  if (is_first_message_ && output_.initial_region) {
    cloud->set_indices_u32le(selected_.data(), selected_.size() * sizeof(selected_[0]));
  }
  return Status::Ok();
}

Status RolloutCall::SendIfComplete() {
  const int step = rollout_->step();
  if (!IsSent(step) || view_index_ < output_.render_targets.size()) return Status::Ok();
  {
    const StageTimer timer(&record().durations.encode_s);
    message_.set_request_id(request_id_);
    message_.mutable_step()->set_step(step);
    const double offset_ns = step * engine().metadata().step_duration_s * kNanosecondsPerSecond;
    SetTimestamp(admitted().checked.newest_capture_time_ns + std::llround(offset_ns),
                 message_.mutable_step()->mutable_predict_time());
    if (SendsParticles()) INTERLACER_RETURN_IF_ERROR(AddParticles());
  }
  if (step == last_step()) {
    FillSummary(message_.mutable_summary());
    SendLast(SerializeResponse(message_));
    return Status::Ok();
  }
  Send(SerializeResponse(message_));
  message_.Clear();
  is_first_message_ = false;
  view_index_ = output_.render_targets.size();
  return Status::Ok();
}

void RolloutCall::FillSummary(wire::CallSummary* summary) {
  const ModelMetadata& metadata = engine().metadata();
  summary->set_model_name(metadata.model_name);
  summary->set_weights_sha256(metadata.weights_sha256);
  summary->set_computed_step_count(computed_steps_);
  summary->set_selected_particle_count(static_cast<int>(selected_.size()));
  ToWire(record().durations, summary->mutable_durations());
  ToWire(report(), summary->mutable_scene_report());
  if (metadata.trained_step_count > 0 && last_step() > metadata.trained_step_count) {
    ToWire({"ROLLOUT_BEYOND_TRAINING",
            "the rollout has " + std::to_string(last_step()) + " steps, training saw " +
                std::to_string(metadata.trained_step_count),
            "output.steps"},
           summary->add_findings());
  }
}

}  // namespace interlacer
