#pragma once

/// Interface of the places where a rollout is computed: in this process or on a server. Both give
/// equal numbers.
///
/// Predict calls `on_step` for every step asked for, in ascending order, as soon as it is computed;
/// an error returned by the callback ends the rollout with that error. A stop request ends it with
/// CANCELLED within one unit of work. Units and frames: common/scene.h, common/prediction.h.
/// Errors: those of model/predictor.h, and UNAVAILABLE or DEADLINE_EXCEEDED for a remote backend.
/// Threads: one call at a time per backend; metadata() and device_name() may be read from anywhere.

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "client/planner/candidate_source.h"
#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

using StepCallback = std::function<Status(PredictedStep step)>;

class RolloutBackend {
 public:
  virtual ~RolloutBackend() = default;

  virtual const ModelMetadata& metadata() const = 0;
  /// "cpu" or "cuda:0 NAME".
  virtual const std::string& device_name() const = 0;
  /// "local" or "remote", for records of how a result was made.
  virtual const std::string& location() const = 0;

  /// `actions`: row s-1 belongs to step s; kNone for a scene without a robot.
  virtual StatusOr<RolloutSummary> Predict(const SceneInput& input, const ActionSequence& actions,
                                           const OutputOptions& output, const StepCallback& on_step,
                                           std::stop_token stop) = 0;

  /// Many futures of one scene, for a planner. The source must not outlive the backend. By default
  /// each candidate is a rollout of its own (client/planner/backend_source.h).
  virtual StatusOr<std::unique_ptr<CandidateSource>> OpenScene(SceneInput input);
};

}  // namespace interlacer
