#include "evaluation/asked_views.h"

#include <utility>

#include "evaluation/subjects.h"

namespace interlacer {
namespace {

StatusOr<AskedViews> AskOneRollout(const PredictionTask& task, const OutputOptions& output,
                                   RolloutBackend* backend, const std::stop_token& stop) {
  AskedViews views;
  const auto keep = [&](PredictedStep step) {
    views[step.step] = std::move(step.views);
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(
      backend->Predict(task.input, task.actions, output, keep, stop).status());
  return views;
}

/// Of every step the scene whose newest observation it is, at its step 0.
StatusOr<AskedViews> AskForTrueFrames(const EpisodeReader& episode, const PredictionTask& task,
                                      const OutputOptions& output, RolloutBackend* backend,
                                      const std::stop_token& stop) {
  OutputOptions now = output;
  now.steps = {0};
  AskedViews views;
  for (int step = 0; step <= task.step_count; ++step) {
    if (step > 0 && task.is_static) {
      views[step] = views[0];
      continue;
    }
    if (task.EpisodeStep(step) >= episode.step_count()) break;
    PredictionRequest request = task.request;
    request.start_step = task.EpisodeStep(step);
    request.step_count = 0;
    INTERLACER_ASSIGN_OR_RETURN(const PredictionTask later,
                                MakePredictionTask(episode, backend->metadata(), request));
    INTERLACER_ASSIGN_OR_RETURN(AskedViews one, AskOneRollout(later, now, backend, stop));
    views[step] = std::move(one[0]);
  }
  return views;
}

}  // namespace

bool AsksForViews(std::string_view subject) {
  return subject == kModelField || subject == kKinematicField || subject == kOracleRender;
}

StatusOr<AskedViews> AskForViews(std::string_view subject, const EpisodeReader& episode,
                                 const PredictionTask& task, RolloutBackend* backend,
                                 const std::stop_token& stop) {
  OutputOptions output = task.output;
  output.include_positions = output.include_colors = output.include_spread = false;
  const bool is_kinematic = subject == kKinematicField;
  output.render_mode = is_kinematic ? RenderMode::kObserved : RenderMode::kField;
  output.motion = is_kinematic ? MotionSource::kRobotOnly : MotionSource::kModel;
  return subject == kOracleRender ? AskForTrueFrames(episode, task, output, backend, stop)
                                  : AskOneRollout(task, output, backend, stop);
}

const RenderedView* FindView(const std::vector<RenderedView>& views, const std::string& name) {
  for (const RenderedView& view : views) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

}  // namespace interlacer
