#include "server/calls/prediction_call.h"

#include "server/convert/responses.h"

namespace interlacer {

wire::PredictedStep PredictionCall::TakeStep(int step, std::int64_t predict_time_ns) {
  step_.set_step(step);
  SetTimestamp(predict_time_ns, step_.mutable_predict_time());
  return std::exchange(step_, wire::PredictedStep());
}

void PredictionCall::Summarize(RolloutSummary summary, wire::CallSummary* message) const {
  if (admitted().kept == nullptr) summary.scene_report = report();
  ToWire(summary, message);
}

void PredictionCall::NoteStep(double seconds, bool asked_network) {
  server().metrics.CountStep(record().model_name, seconds);
  server().statistics.CountStep(record().model_name);
  // Steps that ask no network say nothing of those that do.
  if (!asked_network) return;
  admitted().model->costs->NoteStep(seconds / (output_.include_spread ? kSpreadStepCount : 1),
                                    Clock::now());
}

void PredictionCall::NoteView(std::int64_t pixel_count, double carry_s, double rows_s) {
  MeasuredCosts& costs = *admitted().model->costs;
  if (output_.render_mode == RenderMode::kField) {
    costs.NoteField(pixel_count, rows_s, Clock::now());
  } else {
    costs.NoteCarry(admitted().checked.newest_pixel_count, carry_s, Clock::now());
  }
}

Status PredictionCall::AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                                const DepthImage& depth) {
  server().metrics.CountPixels(record().model_name, std::int64_t{color.width_px} * color.height_px);
  for (const RenderTarget& target : targets) PackView(target, color, depth, step_.add_images());
  return Status::Ok();
}

Status PredictionCall::AddParticles(const Particles& particles,
                                    const std::vector<std::uint32_t>& selected,
                                    bool needs_indices) {
  wire::ParticleCloud* cloud = step_.mutable_particles();
  PackParticles(particles, selected, output_, admitted().checked.workspace, cloud);
  if (needs_indices) {
    cloud->set_indices_u32le(selected.data(), selected.size() * sizeof(selected[0]));
  }
  return Status::Ok();
}

}  // namespace interlacer
