#include "model/rollout_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "common/duration.h"
#include "common/output_selection.h"

namespace interlacer {
namespace {

Status CheckFinite(const std::vector<float>& values, const std::string& what, int step) {
  if (std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return Status::Ok();
  }
  return DataLoss(reason::PREDICTION_NOT_FINITE,
                  what + " of step " + std::to_string(step) + " is not finite")
      .WithMetadata("step", std::to_string(step));
}

}  // namespace

RolloutRunner::RolloutRunner(Predictor* predictor, ActionSequence actions, OutputOptions output,
                             StageDurations* durations, RolloutWriter* writer)
    : predictor_(predictor),
      actions_(std::move(actions)),
      output_(std::move(output)),
      durations_(durations),
      writer_(writer) {}

Status RolloutRunner::Begin(std::shared_ptr<const Scene> scene, std::int64_t newest_capture_time_ns,
                            Selection selected) {
  start_time_ns_ = newest_capture_time_ns;
  {
    const StageTimer timer(&durations_->lift_s);
    INTERLACER_ASSIGN_OR_RETURN(rollout_,
                                predictor_->Begin(std::move(scene), actions_, output_.motion));
    if (output_.include_spread) INTERLACER_RETURN_IF_ERROR(rollout_->MeasureSpread());
  }
  selected_ = std::move(selected);
  if (selected_ == nullptr) INTERLACER_RETURN_IF_ERROR(Select());
  // Step 0 without views is complete already.
  return FinishIfComplete();
}

Status RolloutRunner::Select() {
  // Particles are read only if there is a region.
  const float* positions_m = nullptr;
  if (output_.initial_region) {
    const StageTimer timer(&durations_->encode_s);
    INTERLACER_ASSIGN_OR_RETURN(const Particles* initial, rollout_->ReadParticles());
    positions_m = initial->positions_m.data();
  }
  selected_ = std::make_shared<const std::vector<std::uint32_t>>(
      SelectParticles(rollout_->particle_count(), positions_m, output_));
  return Status::Ok();
}

Status RolloutRunner::RunUnit() {
  if (!is_unfinished_) {
    const bool has_view = IsSent(rollout_->step()) && view_index_ < output_.render_targets.size();
    INTERLACER_RETURN_IF_ERROR(has_view ? Render() : Step());
    is_unfinished_ = true;
  }
  INTERLACER_RETURN_IF_ERROR(FinishIfComplete());
  is_unfinished_ = false;
  return Status::Ok();
}

bool RolloutRunner::IsSent(int step) const {
  return std::binary_search(output_.steps.begin(), output_.steps.end(), step);
}

Status RolloutRunner::Step() {
  const StageTimer timer(&durations_->dynamics_s);
  INTERLACER_RETURN_IF_ERROR(rollout_->Step());
  view_index_ = 0;
  writer_->NoteStep(timer.seconds(), rollout_->asks_network());
  return Status::Ok();
}

std::span<const RenderTarget> RolloutRunner::TargetsOfView() const {
  const std::span<const RenderTarget> all = output_.render_targets;
  std::size_t end = view_index_ + 1;
  while (end < all.size() && ShowSameView(all[end - 1], all[end])) ++end;
  return all.subspan(view_index_, end - view_index_);
}

Status RolloutRunner::StartView() {
  const RenderTarget& target = output_.render_targets[view_index_];
  if (target.camera) {
    view_camera_ = *target.camera;
  } else {
    INTERLACER_ASSIGN_OR_RETURN(view_camera_, rollout_->SceneCamera(target.scene_camera_name));
  }
  const std::span<const RenderTarget> targets = TargetsOfView();
  view_needs_depth_ = std::any_of(targets.begin(), targets.end(), [](const RenderTarget& t) {
    return t.encoding == ViewEncoding::kDepthF32;
  });
  view_color_ = {view_camera_.width_px, view_camera_.height_px, 3, {}};
  view_depth_ = {view_camera_.width_px, view_camera_.height_px, {}};
  const std::size_t count = std::size_t(view_camera_.width_px) * view_camera_.height_px;
  view_color_.pixels.reserve(3 * count);
  view_depth_.pixels_m.reserve(count);
  return Status::Ok();
}

Status RolloutRunner::Render() {
  {
    const StageTimer timer(&durations_->render_s);
    if (!is_view_started_) INTERLACER_RETURN_IF_ERROR(StartView());
    if (!is_view_started_ && output_.render_mode == RenderMode::kObserved) {
      // No row: carrying is a unit of its own.
      FloatImage color;
      DepthImage depth;
      INTERLACER_RETURN_IF_ERROR(rollout_->RenderRows(view_camera_, 0, 0, output_.render_mode,
                                                      view_needs_depth_, &color, &depth));
      is_view_started_ = true;
      carry_s_ = timer.seconds();
      return Status::Ok();
    }
    is_view_started_ = true;
    INTERLACER_RETURN_IF_ERROR(RenderTile());
    rows_s_ += timer.seconds();
    if (next_row_ < view_camera_.height_px) return Status::Ok();
  }
  next_row_ = 0;
  is_view_started_ = false;
  writer_->NoteView(std::int64_t{view_camera_.width_px} * view_camera_.height_px,
                    std::exchange(carry_s_, 0), std::exchange(rows_s_, 0));
  return AddViews();
}

Status RolloutRunner::RenderTile() {
  const auto start = std::chrono::steady_clock::now();
  const int row_count = tile_size_.Rows(view_camera_.width_px, view_camera_.height_px - next_row_);
  const int row_end = next_row_ + row_count;
  FloatImage color;
  DepthImage depth;
  INTERLACER_RETURN_IF_ERROR(rollout_->RenderRows(
      view_camera_, next_row_, row_end, output_.render_mode, view_needs_depth_, &color, &depth));
  view_color_.pixels.insert(view_color_.pixels.end(), color.pixels.begin(), color.pixels.end());
  view_depth_.pixels_m.insert(view_depth_.pixels_m.end(), depth.pixels_m.begin(),
                              depth.pixels_m.end());
  next_row_ = row_end;
  tile_size_.Note(std::int64_t{row_count} * view_camera_.width_px, SecondsSince(start));
  return Status::Ok();
}

Status RolloutRunner::AddViews() {
  const StageTimer timer(&durations_->encode_s);
  const std::span<const RenderTarget> targets = TargetsOfView();
  view_index_ += targets.size();
  // Only values that are sent are checked.
  for (const RenderTarget& target : targets) {
    INTERLACER_RETURN_IF_ERROR(CheckFinite(
        target.encoding == ViewEncoding::kRgb8 ? view_color_.pixels : view_depth_.pixels_m,
        "view \"" + target.name + "\"", rollout_->step()));
  }
  return writer_->AddViews(targets, view_color_, view_depth_);
}

Status RolloutRunner::AddParticles() {
  const StageTimer timer(&durations_->encode_s);
  INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, rollout_->ReadParticles());
  INTERLACER_RETURN_IF_ERROR(CheckFinite(particles->positions_m, "a position", rollout_->step()));
  INTERLACER_RETURN_IF_ERROR(CheckFinite(particles->spread_m, "a spread", rollout_->step()));
  const bool is_first = rollout_->step() == output_.steps.front();
  return writer_->AddParticles(*particles, *selected_, is_first && output_.initial_region);
}

Status RolloutRunner::FinishIfComplete() {
  const int step = rollout_->step();
  if (!IsSent(step) || view_index_ < output_.render_targets.size()) return Status::Ok();
  if (output_.include_positions || output_.include_colors || output_.include_spread) {
    INTERLACER_RETURN_IF_ERROR(AddParticles());
  }
  is_done_ = step == last_step();
  return writer_->FinishStep(
      step, start_time_ns_ + ToNanoseconds(step * predictor_->metadata().step_duration_s));
}

RolloutSummary RolloutRunner::Summary() const {
  const ModelMetadata& metadata = predictor_->metadata();
  RolloutSummary summary;
  summary.model_name = metadata.model_name;
  summary.weights_sha256 = metadata.weights_sha256;
  summary.computed_step_count = rollout_->step();
  summary.selected_particle_count = static_cast<std::int64_t>(selected_->size());
  summary.durations = *durations_;
  if (rollout_->asks_network() && metadata.trained_step_count > 0 &&
      last_step() > metadata.trained_step_count) {
    summary.findings.push_back({"ROLLOUT_BEYOND_TRAINING",
                                "the rollout has " + std::to_string(last_step()) +
                                    " steps, training saw " +
                                    std::to_string(metadata.trained_step_count),
                                "output.steps"});
  }
  return summary;
}

}  // namespace interlacer
