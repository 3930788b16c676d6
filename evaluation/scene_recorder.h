#pragma once

/// Gathers one rollout for its 3-D view while it runs. One rollout, one thread.

#include "client/rollout_backend.h"
#include "evaluation/episode_evaluation.h"
#include "evaluation/scene_view.h"

namespace interlacer {

class SceneRecorder {
 public:
  /// Steps in ascending order from 0; copies the particles.
  void Add(const PredictedStep& step);

  /// After the last step; leaves the recorder empty. Without particles those of the result are
  /// none.
  SceneView Finish(const PredictionTask& task, const ModelMetadata& metadata,
                   const EpisodeEvaluation& evaluation);

 private:
  SceneView scene_;
};

}  // namespace interlacer
