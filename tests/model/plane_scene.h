#pragma once

/// A scene for the tiny model: two cameras look at a painted plane, two plates move a little.

#include <memory>
#include <string>
#include <vector>

#include "common/scene.h"
#include "data/sim/robot.h"
#include "tests/model/plane_robot.h"
#include "tests/support/painted_plane.h"

namespace interlacer::testing {

inline constexpr std::int64_t kStepNs = 500'000'000;

inline RgbdView ViewOfPlane(const std::string& name, int index, std::int64_t time_ns) {
  const PaintedPlane plane{64, 48, 2, 0.0001};
  RgbdView view;
  view.camera_name = name;
  view.camera = PlaneCamera(plane, index);
  view.capture_time_ns = time_ns;
  DepthImage16 depth;
  RenderPlane(plane, view.camera, &view.color, &depth);
  view.depth = DepthToMeters(depth);
  return view;
}

/// A joint row that moves with `step`; grippers stay open.
inline std::vector<float> JointRow(int step) {
  std::vector<float> row;
  for (int arm = 0; arm < sim::kArmCount; ++arm) {
    for (int joint = 0; joint < sim::kJointCount; ++joint) {
      row.push_back(0.1f * static_cast<float>(joint) + 0.05f * static_cast<float>(step));
    }
    row.push_back(0.02f);
  }
  return row;
}

inline ActionSequence Joints(int first_step, int count) {
  ActionSequence actions{ActionKind::kJointPositions, count, sim::kStateColumns, {}};
  for (int i = 0; i < count; ++i) {
    const auto row = JointRow(first_step + i);
    actions.values.insert(actions.values.end(), row.begin(), row.end());
  }
  return actions;
}

inline SceneInput MakeScene() {
  SceneInput input;
  for (int time = 0; time < 2; ++time) {
    input.observations.push_back(
        {{ViewOfPlane("left", 0, time * kStepNs), ViewOfPlane("right", 2, time * kStepNs)}});
  }
  input.history_actions = Joints(0, 2);
  input.seed = 9;
  input.robot = std::make_shared<const Robot>(PlatesOfBodies());
  return input;
}

}  // namespace interlacer::testing
