#include "server/calls/rollout_call.h"

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {

void RolloutCall::NoteStep(double seconds) {
  server().metrics.CountStep(record().model_name, seconds);
}

Status RolloutCall::AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                             const DepthImage& depth) {
  server().metrics.CountPixels(record().model_name, std::int64_t{color.width_px} * color.height_px);
  for (const RenderTarget& target : targets) {
    PackView(target, color, depth, message_.mutable_step()->add_images());
  }
  return Status::Ok();
}

Status RolloutCall::AddParticles(const Particles& particles,
                                 const std::vector<std::uint32_t>& selected, bool needs_indices) {
  wire::ParticleCloud* cloud = message_.mutable_step()->mutable_particles();
  PackParticles(particles, selected, runner_.output(), admitted().checked.workspace, cloud);
  if (needs_indices) {
    cloud->set_indices_u32le(selected.data(), selected.size() * sizeof(selected[0]));
  }
  return Status::Ok();
}

Status RolloutCall::FinishStep(int step, std::int64_t predict_time_ns) {
  message_.set_request_id(request_id_);
  message_.mutable_step()->set_step(step);
  SetTimestamp(predict_time_ns, message_.mutable_step()->mutable_predict_time());
  if (runner_.is_done()) {
    RolloutSummary summary = runner_.Summary();
    summary.scene_report = report();
    ToWire(summary, message_.mutable_summary());
    SendLast(SerializeResponse(message_));
    return Status::Ok();
  }
  Send(SerializeResponse(message_));
  message_.Clear();
  return Status::Ok();
}

}  // namespace interlacer
