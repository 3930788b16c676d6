#include "evaluation/episode_evaluation.h"

#include <utility>

#include "evaluation/step_evaluator.h"

namespace interlacer {

const EvaluatedView* EpisodeEvaluation::Find(const std::string& camera, int step) const {
  for (const EvaluatedView& view : views) {
    if (view.camera == camera && view.step == step) return &view;
  }
  return nullptr;
}

StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task,
                                            const ModelMetadata& metadata, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop) {
  EpisodeEvaluation out;
  StepEvaluator evaluator(episode, task, metadata, backend);
  INTERLACER_RETURN_IF_ERROR(evaluator.Prepare(stop));
  const auto on_predicted = [&](const PredictedStep& step) -> Status {
    INTERLACER_ASSIGN_OR_RETURN(std::vector<EvaluatedView> views, evaluator.Evaluate(step));
    INTERLACER_RETURN_IF_ERROR(on_step(step, views));
    for (EvaluatedView& view : views) out.views.push_back(std::move(view));
    return Status::Ok();
  };
  if (backend != nullptr) {
    INTERLACER_ASSIGN_OR_RETURN(out.summary, backend->Predict(task.input, task.actions, task.output,
                                                              on_predicted, std::move(stop)));
  } else {
    for (const int step : task.output.steps) {
      if (stop.stop_requested()) return Cancelled("stopped by the caller");
      PredictedStep nothing;
      nothing.step = step;
      INTERLACER_RETURN_IF_ERROR(on_predicted(nothing));
    }
  }
  out.censuses = evaluator.Censuses();
  out.carried = evaluator.Carried();
  return out;
}

StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop) {
  return EvaluateEpisode(episode, task, backend->metadata(), backend, on_step, std::move(stop));
}

}  // namespace interlacer
