#include "cli/local_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/scene_columns.h"
#include "client/planner/backend_source.h"
#include "common/camera.h"
#include "common/duration.h"
#include "common/image_codec.h"
#include "common/output_selection.h"
#include "common/step_changes.h"
#include "model/rollout_runner.h"

namespace interlacer {
namespace {

/// Quantises to 16 bits over the box and back, as the wire does.
float QuantizedTo16Bits(float value, double min, double max) {
  const double q = std::clamp(std::round((value - min) / (max - min) * 65535.0), 0.0, 65535.0);
  return static_cast<float>(min + q / 65535.0 * (max - min));
}

StatusOr<RenderedView> PackView(const RenderTarget& target, const FloatImage& color,
                                const DepthImage& depth) {
  RenderedView view;
  view.name = target.name;
  if (target.encoding == ViewEncoding::kDepthF32) {
    view.depth = depth;
    return view;
  }
  view.color = QuantizeRgb(color);
  if (target.compression == ViewCompression::kJpeg) {
    const ImageLimits limits{std::max(view.color.width_px, view.color.height_px)};
    INTERLACER_ASSIGN_OR_RETURN(view.color,
                                DecodeJpegRgb(EncodeJpeg(view.color, target.jpeg_quality), limits));
  }
  return view;
}

/// Gathers a step and hands it to the callback.
class StepWriter final : public RolloutWriter {
 public:
  StepWriter(const OutputOptions& output, const Box& workspace, const StepCallback& on_step)
      : output_(output), workspace_(workspace), on_step_(on_step) {}

  Status AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                  const DepthImage& depth) override {
    for (const RenderTarget& target : targets) {
      INTERLACER_ASSIGN_OR_RETURN(RenderedView view, PackView(target, color, depth));
      step_.views.push_back(std::move(view));
    }
    return Status::Ok();
  }

  Status AddParticles(const Particles& particles, const std::vector<std::uint32_t>& selected,
                      bool needs_indices) override {
    step_.particle_count = static_cast<std::int64_t>(selected.size());
    for (const std::uint32_t index : selected) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t at = std::size_t{3} * index + axis;
        if (output_.include_positions) step_.positions_m.push_back(Sent(particles, at));
        if (output_.include_colors) step_.colors_rgb8.push_back(particles.colors_rgb8[at]);
      }
    }
    if (output_.include_spread) {
      for (const std::uint32_t index : selected) {
        step_.spread_m.push_back(particles.spread_m[index]);
      }
    }
    if (needs_indices) step_.indices = selected;
    return Status::Ok();
  }

  Status FinishStep(int step, std::int64_t predict_time_ns) override {
    step_.step = step;
    step_.predict_time_ns = predict_time_ns;
    return on_step_(std::exchange(step_, {}));
  }

 private:
  float Sent(const Particles& particles, std::size_t at) const {
    const float p = particles.positions_m[at];
    const std::size_t axis = at % 3;
    return output_.position_encoding == PositionEncoding::kFloat32
               ? p
               : QuantizedTo16Bits(p, workspace_.min_m[axis], workspace_.max_m[axis]);
  }

  const OutputOptions& output_;
  const Box workspace_;
  const StepCallback& on_step_;
  PredictedStep step_;
};

std::int64_t NewestCaptureTimeNs(const SceneInput& input) {
  std::int64_t newest_ns = 0;
  if (input.observations.empty()) return newest_ns;
  for (const RgbdView& view : input.observations.back().views) {
    newest_ns = std::max(newest_ns, view.capture_time_ns);
  }
  return newest_ns;
}

/// A lifted scene and what its rollouts need of the frames.
struct OpenedScene {
  std::shared_ptr<const Scene> scene;
  Box workspace;
  std::int64_t newest_capture_time_ns = 0;
  ActionSequence history{};
  std::vector<ActionColumn> columns{};  ///< of its rows
  StepChanges changes = StepChanges::kAsServed;
};

/// The request's path of what the predictor names, so that a refusal names the same field as a
/// server's does.
std::string RequestPath(std::string field) {
  static const std::pair<std::regex, const char*> kForms[] = {
      {std::regex(R"(^(observations|history_actions|workspace|near_m|far_m)\b)"),
       "source.scene_input.$1"},
      {std::regex(R"((workspace)\.[xyz]$)"), "$1"},
      {std::regex(R"((views\[\d+\])\.(fx|fy|cx|cy|width|height|distortion|world_from)_)"),
       "$1.calibration.$2_"},
      {std::regex(R"(rotation_xyzw$)"), "rotation"},
      {std::regex(R"(\.(color|depth)$)"), ".$1.data"},
      {std::regex(R"((actions)\.values\[\d+\]$)"), "$1.joint_positions.values_f32le"},
      {std::regex(R"((actions)\.column_count$)"), "$1.joint_positions.column_count"},
      {std::regex(R"((actions)\.kind$)"), "$1"},
  };
  for (const auto& [form, path] : kForms) field = std::regex_replace(field, form, path);
  return field;
}

Status OfRequest(Status status) {
  if (!status.field().empty()) status.WithField(RequestPath(status.field()));
  return status;
}

StatusOr<OpenedScene> Open(Predictor* predictor, StepChanges changes, const SceneInput& input) {
  OpenedScene opened{nullptr,
                     input.workspace.value_or(predictor->metadata().workspace),
                     NewestCaptureTimeNs(input),
                     input.history_actions,
                     {},
                     changes};
  auto scene = predictor->Lift(input);
  if (!scene.ok()) return OfRequest(scene.status());
  opened.scene = *std::move(scene);
  // Of a robot that the predictor has checked.
  opened.columns = cli::ColumnsOfScene(input, predictor->metadata());
  return opened;
}

/// Before the first step, as a server does.
Status CheckFreeCameras(const std::vector<RenderTarget>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].camera) continue;
    Status status = ValidateCamera(*targets[i].camera);
    if (status.ok()) continue;
    return OfRequest(std::move(status).WithFieldPrefix("output.render_targets[" +
                                                       std::to_string(i) + "].camera"));
  }
  return Status::Ok();
}

Status CheckChanges(const OpenedScene& opened, const ActionSequence& actions) {
  Status status = CheckStepChanges(opened.history, actions, opened.columns);
  if (status.ok()) return status;
  return std::move(status).WithFieldPrefix("actions");
}

/// `durations` may hold the time of the lift.
StatusOr<RolloutSummary> Roll(Predictor* predictor, const OpenedScene& opened,
                              const ActionSequence& actions, const OutputOptions& output,
                              const StepCallback& on_step, const std::stop_token& stop,
                              StageDurations* durations) {
  INTERLACER_RETURN_IF_ERROR(CheckFreeCameras(output.render_targets));
  OutputOptions selected = output;
  auto steps = SelectSteps(output.steps, actions.kind != ActionKind::kNone, actions.row_count,
                           std::numeric_limits<int>::max());
  if (!steps.ok()) return steps.status().WithFieldPrefix("output");
  selected.steps = *std::move(steps);

  StepWriter writer(output, opened.workspace, on_step);
  RolloutRunner runner(predictor, actions, std::move(selected), durations, &writer);
  INTERLACER_RETURN_IF_ERROR(OfRequest(runner.Begin(opened.scene, opened.newest_capture_time_ns)));
  const Status change = CheckChanges(opened, actions);
  if (opened.changes == StepChanges::kAsServed) INTERLACER_RETURN_IF_ERROR(change);
  while (!runner.is_done()) {
    if (stop.stop_requested()) return Cancelled("stopped by the caller");
    INTERLACER_RETURN_IF_ERROR(runner.RunUnit());
  }
  RolloutSummary summary = runner.Summary();
  summary.scene_report = opened.scene->report();
  if (!change.ok()) summary.findings.push_back({"ACTION_JUMP", change.message(), change.field()});
  return summary;
}

class LocalSource final : public CandidateSource {
 public:
  LocalSource(Predictor* predictor, OpenedScene opened)
      : predictor_(predictor), opened_(std::move(opened)) {}

  const ModelMetadata& metadata() const override { return predictor_->metadata(); }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override {
    const auto roll = [&](const PlanRows& rows, const StepCallback& on_step) -> Status {
      StageDurations durations;
      return Roll(predictor_, opened_, ToActions(rows), output, on_step, stop, &durations).status();
    };
    return PredictOneByOne(candidates, roll, on_candidate);
  }
  double CostS(int candidate_count, int step_count) const override {
    return candidate_count * step_count * metadata().step_cost_s;
  }

 private:
  Predictor* const predictor_;
  const OpenedScene opened_;
};

}  // namespace

LocalBackend::LocalBackend(std::unique_ptr<Predictor> predictor, StepChanges changes)
    : predictor_(std::move(predictor)), changes_(changes) {}

StatusOr<RolloutSummary> LocalBackend::Predict(const SceneInput& input,
                                               const ActionSequence& actions,
                                               const OutputOptions& output,
                                               const StepCallback& on_step, std::stop_token stop) {
  StageDurations durations;
  OpenedScene opened;
  {
    const StageTimer timer(&durations.lift_s);
    INTERLACER_ASSIGN_OR_RETURN(opened, Open(predictor_.get(), changes_, input));
  }
  return Roll(predictor_.get(), opened, actions, output, on_step, stop, &durations);
}

StatusOr<std::unique_ptr<CandidateSource>> LocalBackend::OpenScene(SceneInput input) {
  INTERLACER_ASSIGN_OR_RETURN(OpenedScene opened, Open(predictor_.get(), changes_, input));
  return std::unique_ptr<CandidateSource>(
      std::make_unique<LocalSource>(predictor_.get(), std::move(opened)));
}

}  // namespace interlacer
