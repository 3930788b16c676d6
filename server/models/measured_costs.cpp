#include "server/models/measured_costs.h"

namespace interlacer {
namespace {

std::int64_t PixelCount(const ModelMetadata& metadata) {
  std::int64_t count = 0;
  for (const CameraSpec& camera : metadata.cameras) {
    count += std::int64_t{camera.width_px} * camera.height_px;
  }
  return std::max<std::int64_t>(count, 1);
}

}  // namespace

MeasuredCosts::MeasuredCosts(const ModelMetadata& metadata, Time now)
    : model_pixel_count_(PixelCount(metadata)),
      longest_unit_s_(std::max({metadata.longest_unit_s, metadata.step_cost_s,
                                metadata.ingest_cost_s, metadata.carry_cost_s})) {
  // A warm-up whose steps ask no network says nothing of those that do.
  if (metadata.step_cost_s > 0) step_s_.Add(metadata.step_cost_s, now);
  lift_.Note(0, metadata.ingest_cost_s, now);
  field_s_per_pixel_.Add(metadata.render_cost_s / kReferenceViewPx, now);
  carry_.Note(0, metadata.carry_cost_s, now);
}

void MeasuredCosts::NoteStep(double seconds, Time now) {
  const std::lock_guard lock(mutex_);
  step_s_.Add(seconds, now);
}

void MeasuredCosts::NoteLift(std::int64_t pixel_count, double seconds, Time now) {
  const std::lock_guard lock(mutex_);
  lift_.Note(pixel_count - model_pixel_count_, seconds, now);
}

void MeasuredCosts::NoteField(std::int64_t pixel_count, double seconds, Time now) {
  const std::lock_guard lock(mutex_);
  field_s_per_pixel_.Add(seconds / static_cast<double>(std::max<std::int64_t>(pixel_count, 1)),
                         now);
}

void MeasuredCosts::NoteCarry(std::int64_t pixel_count, double seconds, Time now) {
  const std::lock_guard lock(mutex_);
  carry_.Note(pixel_count - model_pixel_count_, seconds, now);
}

void MeasuredCosts::NoteUnit(double seconds) {
  const std::lock_guard lock(mutex_);
  longest_unit_s_ = std::max(longest_unit_s_, seconds);
}

double MeasuredCosts::StepS(Time now) const {
  const std::lock_guard lock(mutex_);
  return step_s_.At(now);
}

double MeasuredCosts::LiftS(std::int64_t pixel_count, Time now) const {
  const std::lock_guard lock(mutex_);
  return lift_.At(pixel_count - model_pixel_count_, now);
}

double MeasuredCosts::FieldS(std::int64_t pixel_count, Time now) const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(pixel_count) * field_s_per_pixel_.At(now);
}

double MeasuredCosts::CarryS(std::int64_t pixel_count, Time now) const {
  const std::lock_guard lock(mutex_);
  return carry_.At(pixel_count - model_pixel_count_, now);
}

void MeasuredCosts::CopyTo(ModelMetadata* metadata, Time now) const {
  metadata->step_cost_s = StepS(now);
  metadata->ingest_cost_s = LiftS(model_pixel_count_, now);
  metadata->render_cost_s = kReferenceViewPx * FieldS(1, now);
  metadata->carry_cost_s = CarryS(model_pixel_count_, now);
  const std::lock_guard lock(mutex_);
  metadata->longest_unit_s = longest_unit_s_;
}

}  // namespace interlacer
