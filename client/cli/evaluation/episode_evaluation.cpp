#include "client/cli/evaluation/episode_evaluation.h"

#include <utility>

namespace interlacer {
namespace {

/// What stays the same over the steps of one prediction.
class Evaluator {
 public:
  Evaluator(const EpisodeReader& episode, const PredictionTask& task)
      : episode_(episode), task_(task) {}

  StatusOr<std::vector<EvaluatedView>> Evaluate(const PredictedStep& step) {
    std::vector<EvaluatedView> views;
    for (std::size_t i = 0; i < task_.targets.size(); ++i) {
      if (i >= step.views.size() || step.views[i].name != task_.targets[i].name) {
        return Internal("step " + std::to_string(step.step) + " lacks the view \"" +
                        task_.targets[i].name + "\"");
      }
      INTERLACER_ASSIGN_OR_RETURN(EvaluatedView view,
                                  EvaluateView(task_.targets[i], step, step.views[i].color));
      views.push_back(std::move(view));
    }
    return views;
  }

 private:
  StatusOr<EvaluatedView> EvaluateView(const TargetView& target, const PredictedStep& step,
                                       const RgbImage& predicted) {
    EvaluatedView view{target.name, target.is_input, step.step, predicted, {}, {}, {}};
    if (step.step == 0) reconstructions_[target.name] = predicted;
    INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> truth,
                                ReadTrueFrame(episode_, task_, target, step.step));
    if (!truth) return view;
    const bool has_past = target.is_input && !task_.is_static;
    if (has_past && newest_observed_.count(target.name) == 0) {
      INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> newest,
                                  ReadTrueFrame(episode_, task_, target, 0));
      newest_observed_[target.name] = std::move(newest->color);
    }
    INTERLACER_ASSIGN_OR_RETURN(view.splat, SplatView(step, truth->camera));

    ScoredView pictures;
    pictures.model = &view.predicted;
    pictures.splat = view.splat;
    const auto reconstruction = reconstructions_.find(target.name);
    if (reconstruction != reconstructions_.end()) pictures.reconstruction = &reconstruction->second;
    const auto newest = newest_observed_.find(target.name);
    const RgbImage* observed = newest == newest_observed_.end() ? nullptr : &newest->second;
    if (observed != nullptr) pictures.copy_last = *observed;
    INTERLACER_ASSIGN_OR_RETURN(view.scores,
                                ScoreView(pictures, *truth, observed, task_.region.workspace));
    view.truth = std::move(truth->color);
    return view;
  }

  const EpisodeReader& episode_;
  const PredictionTask& task_;
  std::map<std::string, RgbImage> newest_observed_;
  std::map<std::string, RgbImage> reconstructions_;
};

}  // namespace

const EvaluatedView* EpisodeEvaluation::Find(const std::string& camera, int step) const {
  for (const EvaluatedView& view : views) {
    if (view.camera == camera && view.step == step) return &view;
  }
  return nullptr;
}

StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop) {
  EpisodeEvaluation out;
  Evaluator evaluator(episode, task);
  const auto on_predicted = [&](PredictedStep step) -> Status {
    INTERLACER_ASSIGN_OR_RETURN(std::vector<EvaluatedView> views, evaluator.Evaluate(step));
    INTERLACER_RETURN_IF_ERROR(on_step(step, views));
    for (EvaluatedView& view : views) out.views.push_back(std::move(view));
    return Status::Ok();
  };
  INTERLACER_ASSIGN_OR_RETURN(out.summary, backend->Predict(task.input, task.actions, task.output,
                                                            on_predicted, std::move(stop)));
  return out;
}

}  // namespace interlacer
