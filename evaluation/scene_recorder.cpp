#include "evaluation/scene_recorder.h"

#include <utility>

namespace interlacer {

void SceneRecorder::Add(const PredictedStep& step) {
  scene_.predicted_m.push_back(step.positions_m);
  if (step.step == 0) scene_.colors_rgb8 = step.colors_rgb8;
}

SceneView SceneRecorder::Finish(const PredictionTask& task, const ModelMetadata& metadata,
                                const EpisodeEvaluation& evaluation) {
  scene_.step_duration_s = metadata.step_duration_s;
  scene_.workspace = task.region.workspace;
  scene_.carried = evaluation.carried;
  for (const TargetView& target : task.targets) {
    scene_.cameras.emplace_back(target.name, task.CameraOf(target));
  }
  return std::exchange(scene_, {});
}

}  // namespace interlacer
