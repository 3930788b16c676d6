#pragma once

/// The subjects of one rollout, step by step: what of them is the same at all steps is made once,
/// and each step is scored when it arrives. One rollout, one thread.

#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/rollout_backend.h"
#include "data/simulation_truth.h"
#include "evaluation/asked_views.h"
#include "evaluation/baselines.h"
#include "evaluation/evaluated_view.h"

namespace interlacer {

class StepEvaluator {
 public:
  /// Everything must outlive it. `backend` may be null.
  StepEvaluator(const EpisodeReader& episode, const PredictionTask& task,
                const ModelMetadata& metadata, RolloutBackend* backend);

  /// Motions of the subjects that need no model, and the views that others ask of it.
  Status Prepare(const std::stop_token& stop);

  /// Steps in ascending order from 0.
  StatusOr<std::vector<EvaluatedView>> Evaluate(const PredictedStep& step);

  std::map<std::string, ParticleCensus> Censuses() const;
  /// As EpisodeEvaluation's; nothing where nothing moves.
  std::vector<CarriedParticles> Carried() const;

 private:
  /// What a subject shows of a view.
  struct Shown {
    std::string_view subject;
    RgbImage color;
    DepthImage depth;  ///< without pixels: none
  };

  bool Wants(std::string_view subject) const;
  Status PrepareBaselines();
  Status PrepareAskedViews(const std::stop_token& stop);
  Status AddBaseline(std::string_view subject, StatusOr<Baseline> baseline);
  /// Once the particles are known.
  Status AddContact();

  /// Newest observed frame of a view; null for views that were not observed.
  StatusOr<const TrueFrame*> NewestObserved(const TargetView& target);
  /// Of a held-out view of a scene where nothing moves; else null.
  StatusOr<const std::vector<std::uint8_t>*> Carried(const TargetView& target,
                                                     const Camera& camera);
  Status StartParticles(const PredictedStep& step);
  std::map<std::string_view, std::vector<float>> ParticlesOf(const PredictedStep& step) const;

  StatusOr<std::vector<Shown>> ShowView(const TargetView& target, const Camera& camera,
                                        const PredictedStep& step);
  StatusOr<EvaluatedView> EvaluateView(
      const TargetView& target, const Camera& camera, const PredictedStep& step,
      const std::map<std::string_view, std::vector<float>>& particles);
  Status ScoreShown(const TargetView& target, const TrueFrame& truth, const PredictedStep& step,
                    const std::vector<Shown>& shown,
                    const std::map<std::string_view, std::vector<float>>& particles,
                    std::vector<ViewScore>* scores);
  StatusOr<std::optional<std::vector<std::uint8_t>>> ShowsObject(const TargetView& target,
                                                                 int step) const;

  const EpisodeReader& episode_;
  const PredictionTask& task_;
  const ModelMetadata& metadata_;
  RolloutBackend* const backend_;
  std::vector<std::string> subjects_;
  std::map<std::string_view, std::string> absences_;  ///< why a subject has nothing to show

  std::optional<SimulationTruth> simulation_;
  BodyMotion true_motion_;
  std::optional<CarriedPixels> pixels_;
  std::map<std::string_view, Baseline> baselines_;
  std::map<std::string_view, AskedViews> asked_;

  std::vector<float> start_m_;             ///< particles of step 0
  std::vector<std::int32_t> true_bodies_;  ///< of particles; empty without truth
  std::map<std::string_view, std::vector<std::int32_t>> particle_bodies_;
  std::map<std::string, TrackedParticles> tracked_;
  std::set<int> moved_;
  std::map<std::string, TrueFrame> newest_observed_;
  std::map<std::string, Shown> reconstructions_;
  std::map<std::string, std::vector<std::uint8_t>> carried_;  ///< by view
};

}  // namespace interlacer
