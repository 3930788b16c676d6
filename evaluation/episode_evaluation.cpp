#include "evaluation/episode_evaluation.h"

#include <utility>

#include "data/simulation_truth.h"
#include "evaluation/geometry_scores.h"
#include "evaluation/tracked_particles.h"

namespace interlacer {
namespace {

const RenderedView* FindView(const PredictedStep& step, const std::string& name) {
  for (const RenderedView& view : step.views) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

/// Evaluates the steps of one prediction; holds what is the same for all of them.
class Evaluator {
 public:
  Evaluator(const EpisodeReader& episode, const PredictionTask& task,
            const std::optional<SimulationTruth>& simulation)
      : episode_(episode), task_(task), simulation_(simulation) {}

  StatusOr<std::vector<EvaluatedView>> Evaluate(const PredictedStep& step) {
    std::vector<EvaluatedView> views;
    for (const TargetView& target : task_.targets) {
      const RenderedView* color = FindView(step, target.name);
      if (color == nullptr) {
        return Internal("step " + std::to_string(step.step) + " lacks the view \"" + target.name +
                        "\"");
      }
      const RenderedView* depth = FindView(step, DepthViewName(target));
      INTERLACER_ASSIGN_OR_RETURN(
          EvaluatedView view,
          EvaluateView(target, step, color->color, depth == nullptr ? nullptr : &depth->depth));
      views.push_back(std::move(view));
    }
    return views;
  }

 private:
  StatusOr<EvaluatedView> EvaluateView(const TargetView& target, const PredictedStep& step,
                                       const RgbImage& predicted, const DepthImage* depth) {
    EvaluatedView view{target.name, target.is_input, step.step, predicted, {}, {}, {}};
    if (step.step == 0) {
      reconstructions_[target.name] = predicted;
      if (depth != nullptr) reconstructed_depths_[target.name] = *depth;
    }
    INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> truth,
                                ReadTrueFrame(episode_, task_, target, step.step));
    if (!truth) return view;
    const bool has_past = target.is_input && !task_.is_static;
    if (has_past && newest_observed_.count(target.name) == 0) {
      INTERLACER_ASSIGN_OR_RETURN(std::optional<TrueFrame> newest,
                                  ReadTrueFrame(episode_, task_, target, 0));
      newest_observed_[target.name] = *std::move(newest);
    }
    INTERLACER_ASSIGN_OR_RETURN(std::optional<ParticlePreview> splat,
                                SplatView(step, truth->camera));
    const auto newest = newest_observed_.find(target.name);
    const TrueFrame* observed = newest == newest_observed_.end() ? nullptr : &newest->second;

    ScoredGeometry geometry;
    geometry.model = depth;
    const auto reconstructed = reconstructed_depths_.find(target.name);
    if (reconstructed != reconstructed_depths_.end()) {
      geometry.reconstruction = &reconstructed->second;
    }
    if (observed != nullptr) geometry.copy_last = &observed->depth;
    if (splat) geometry.splat = &splat->depth;
    geometry.particles_m = step.positions_m;
    INTERLACER_ASSIGN_OR_RETURN(std::vector<ViewScore> geometry_scores,
                                ScoreGeometry(geometry, *truth, task_.region.workspace));
    if (splat) view.splat = std::move(splat->color);

    ScoredView pictures;
    pictures.model = &view.predicted;
    pictures.splat = view.splat;
    const auto reconstruction = reconstructions_.find(target.name);
    if (reconstruction != reconstructions_.end()) pictures.reconstruction = &reconstruction->second;
    if (observed != nullptr) pictures.copy_last = observed->color;
    INTERLACER_ASSIGN_OR_RETURN(
        view.scores, ScoreView(pictures, *truth, observed == nullptr ? nullptr : &observed->color,
                               task_.region.workspace));
    view.scores.insert(view.scores.end(), geometry_scores.begin(), geometry_scores.end());
    if (observed != nullptr) {
      INTERLACER_RETURN_IF_ERROR(AddTrackedScores(target, step, *observed, &view.scores));
    }
    view.truth = std::move(truth->color);
    return view;
  }

  Status AddTrackedScores(const TargetView& target, const PredictedStep& step,
                          const TrueFrame& observed, std::vector<ViewScore>* scores) {
    if (!simulation_ || step.positions_m.empty()) return Status::Ok();
    if (step.step == 0) {
      INTERLACER_ASSIGN_OR_RETURN(tracked_[target.name],
                                  TrackedParticles::Start(*simulation_, target, observed,
                                                          task_.start_step, step.positions_m));
    }
    const auto tracked = tracked_.find(target.name);
    if (tracked == tracked_.end()) return Status::Ok();
    const std::vector<ViewScore> tracked_scores =
        tracked->second.Score(step.positions_m, task_.EpisodeStep(step.step));
    scores->insert(scores->end(), tracked_scores.begin(), tracked_scores.end());
    return Status::Ok();
  }

  const EpisodeReader& episode_;
  const PredictionTask& task_;
  const std::optional<SimulationTruth>& simulation_;
  std::map<std::string, TrackedParticles> tracked_;
  std::map<std::string, TrueFrame> newest_observed_;
  std::map<std::string, RgbImage> reconstructions_;
  std::map<std::string, DepthImage> reconstructed_depths_;
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
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<SimulationTruth> simulation,
                              SimulationTruth::Open(episode));
  Evaluator evaluator(episode, task, simulation);
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
