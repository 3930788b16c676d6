#pragma once

/// A request that every shipped model takes: a table top below cameras that look straight down, and
/// a robot that rests in the middle of its joints' ranges.

#include <iterator>

#include "common/model_metadata.h"
#include "tests/support/fake_predictor.h"

namespace interlacer::testing {

/// `row_count` equal rows.
inline ActionSequence RestingRobot(const ModelMetadata& model, int row_count) {
  ActionSequence rows{ActionKind::kJointPositions, row_count, std::ssize(model.action_columns), {}};
  for (int row = 0; row < row_count; ++row) {
    for (const ActionColumn& column : model.action_columns) {
      rows.values.push_back(static_cast<float>(0.5 * (column.min_value + column.max_value)));
    }
  }
  return rows;
}

inline SceneInput TableScene(const ModelMetadata& model) {
  constexpr float kHeightM = 1.2f;
  SceneInput scene = FakeSceneInput(model);
  for (Observation& observation : scene.observations) {
    for (RgbdView& view : observation.views) {
      view.camera.world_from_camera = {{0, 0, kHeightM}, {1, 0, 0, 0}};
      for (float& depth_m : view.depth.pixels_m) depth_m = kHeightM;
    }
  }
  scene.history_actions = RestingRobot(model, model.history_step_count);
  return scene;
}

}  // namespace interlacer::testing
