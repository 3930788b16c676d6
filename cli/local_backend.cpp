#include "cli/local_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "common/same_view.h"

namespace interlacer {
namespace {

/// Rows of one unit of rendering: small enough that a stop is noticed soon.
constexpr int kTileRows = 16;

/// Adds its life to a stage.
class StageTimer {
 public:
  explicit StageTimer(double* stage_s) : stage_s_(stage_s) {}
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;
  ~StageTimer() {
    *stage_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double* const stage_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// To 16 bits over the box and back, as on the wire.
float ThroughSixteenBits(float value, double min, double max) {
  const double q = std::clamp(std::round((value - min) / (max - min) * 65535.0), 0.0, 65535.0);
  return static_cast<float>(min + q / 65535.0 * (max - min));
}

Status CheckFinite(const std::vector<float>& values, int step) {
  if (std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return Status::Ok();
  }
  return DataLoss(reason::PREDICTION_NOT_FINITE,
                  "the prediction of step " + std::to_string(step) + " is not finite")
      .WithMetadata("step", std::to_string(step));
}

Status CopyParticles(const Rollout& rollout, const std::vector<std::uint32_t>& selected,
                     const OutputOptions& output, const Box& workspace, PredictedStep* step) {
  if (!output.include_positions && !output.include_colors) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, rollout.ReadParticles());
  step->particle_count = static_cast<std::int64_t>(selected.size());
  for (const std::uint32_t index : selected) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t at = std::size_t{3} * index + axis;
      if (output.include_positions) {
        const float p = particles->positions_m[at];
        step->positions_m.push_back(
            output.position_encoding == PositionEncoding::kFloat32
                ? p
                : ThroughSixteenBits(p, workspace.min_m[axis], workspace.max_m[axis]));
      }
      if (output.include_colors) step->colors_rgb8.push_back(particles->colors_rgb8[at]);
    }
  }
  return Status::Ok();
}

Status CheckStop(const std::stop_token& stop) {
  return stop.stop_requested() ? Cancelled("stopped by the caller") : Status::Ok();
}

StatusOr<Camera> TargetCamera(const Rollout& rollout, const RenderTarget& target) {
  if (target.camera) return *target.camera;
  INTERLACER_ASSIGN_OR_RETURN(Camera camera, rollout.SceneCamera(target.scene_camera_name));
  camera.distortion_model = DistortionModel::kNone;
  camera.distortion_coefficients.clear();
  return camera;
}

/// One rendering; it serves every target that shows the same view.
struct Rendering {
  FloatImage color;
  DepthImage depth;
};

StatusOr<Rendering> Render(const Rollout& rollout, const RenderTarget& target,
                           const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const Camera camera, TargetCamera(rollout, target));
  Rendering rendering{{camera.width_px, camera.height_px, 3, {}},
                      {camera.width_px, camera.height_px, {}}};
  auto& [color, depth] = rendering;
  for (int row = 0; row < camera.height_px; row += kTileRows) {
    INTERLACER_RETURN_IF_ERROR(CheckStop(stop));
    FloatImage color_tile;
    DepthImage depth_tile;
    INTERLACER_RETURN_IF_ERROR(rollout.RenderRows(
        camera, row, std::min(row + kTileRows, camera.height_px), &color_tile, &depth_tile));
    color.pixels.insert(color.pixels.end(), color_tile.pixels.begin(), color_tile.pixels.end());
    depth.pixels_m.insert(depth.pixels_m.end(), depth_tile.pixels_m.begin(),
                          depth_tile.pixels_m.end());
  }
  return rendering;
}

StatusOr<RenderedView> PackView(const Rendering& rendering, const RenderTarget& target, int step) {
  RenderedView view;
  view.name = target.name;
  if (target.encoding == ViewEncoding::kDepthF32) {
    INTERLACER_RETURN_IF_ERROR(CheckFinite(rendering.depth.pixels_m, step));
    view.depth = rendering.depth;
    return view;
  }
  INTERLACER_RETURN_IF_ERROR(CheckFinite(rendering.color.pixels, step));
  view.color = QuantizeRgb(rendering.color);
  if (target.compression == ViewCompression::kJpeg) {
    INTERLACER_ASSIGN_OR_RETURN(view.color,
                                DecodeJpegRgb(EncodeJpeg(view.color, target.jpeg_quality)));
  }
  return view;
}

/// Empty means all from 1, one for each action row.
StatusOr<std::vector<int>> StepsToSend(const OutputOptions& output, const ActionSequence& actions) {
  std::vector<int> steps = output.steps;
  for (int s = 1; output.steps.empty() && s <= actions.row_count; ++s) steps.push_back(s);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] < 0 || (i > 0 && steps[i] <= steps[i - 1])) {
      return Mismatch(reason::STEP_INVALID, "output.steps[" + std::to_string(i) + "]",
                      "ascending steps from 0", std::to_string(steps[i]));
    }
  }
  if (steps.empty()) {
    return Mismatch(reason::STEP_INVALID, "output.steps", "steps, because there are no action rows",
                    "none");
  }
  return steps;
}

std::int64_t NewestCaptureTimeNs(const SceneInput& input) {
  std::int64_t newest_ns = 0;
  if (input.observations.empty()) return newest_ns;
  for (const RgbdView& view : input.observations.back().views) {
    newest_ns = std::max(newest_ns, view.capture_time_ns);
  }
  return newest_ns;
}

}  // namespace

LocalBackend::LocalBackend(std::unique_ptr<Predictor> predictor)
    : predictor_(std::move(predictor)) {}

StatusOr<RolloutSummary> LocalBackend::Predict(const SceneInput& input,
                                               const ActionSequence& actions,
                                               const OutputOptions& output,
                                               const StepCallback& on_step, std::stop_token stop) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> steps, StepsToSend(output, actions));
  RolloutSummary summary;
  summary.model_name = metadata().model_name;
  summary.weights_sha256 = metadata().weights_sha256;

  std::unique_ptr<Rollout> rollout;
  {
    const StageTimer timer(&summary.durations.lift_s);
    INTERLACER_ASSIGN_OR_RETURN(const std::shared_ptr<const Scene> scene, predictor_->Lift(input));
    summary.scene_report = scene->report();
    INTERLACER_ASSIGN_OR_RETURN(rollout, predictor_->Begin(scene, actions));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> selected,
                              SelectParticles(*rollout, output));
  summary.selected_particle_count = static_cast<std::int64_t>(selected.size());
  const Box workspace = input.workspace.value_or(metadata().workspace);
  const std::int64_t start_ns = NewestCaptureTimeNs(input);

  for (const int wanted : steps) {
    while (rollout->step() < wanted) {
      INTERLACER_RETURN_IF_ERROR(CheckStop(stop));
      const StageTimer timer(&summary.durations.dynamics_s);
      INTERLACER_RETURN_IF_ERROR(rollout->Step());
      ++summary.computed_step_count;
    }
    PredictedStep step;
    step.step = wanted;
    step.predict_time_ns = start_ns + std::llround(wanted * metadata().step_duration_s * 1e9);
    {
      const StageTimer timer(&summary.durations.encode_s);
      INTERLACER_RETURN_IF_ERROR(CopyParticles(*rollout, selected, output, workspace, &step));
    }
    if (wanted == steps.front() && output.initial_region) step.indices = selected;
    Rendering rendering;
    for (std::size_t i = 0; i < output.render_targets.size(); ++i) {
      const StageTimer timer(&summary.durations.render_s);
      const RenderTarget& target = output.render_targets[i];
      if (i == 0 || !ShowSameView(output.render_targets[i - 1], target)) {
        INTERLACER_ASSIGN_OR_RETURN(rendering, Render(*rollout, target, stop));
      }
      INTERLACER_ASSIGN_OR_RETURN(RenderedView view, PackView(rendering, target, wanted));
      step.views.push_back(std::move(view));
    }
    INTERLACER_RETURN_IF_ERROR(on_step(std::move(step)));
  }
  if (metadata().trained_step_count > 0 && steps.back() > metadata().trained_step_count) {
    summary.findings.push_back({"ROLLOUT_BEYOND_TRAINING",
                                "the rollout has " + std::to_string(steps.back()) +
                                    " steps, training saw " +
                                    std::to_string(metadata().trained_step_count),
                                "output.steps"});
  }
  return summary;
}

}  // namespace interlacer
