/// Asks a running server what a robot's motion does to a made-up table top, and prints a line a
/// predicted step. docs/examples/predict.py prints the same lines.
///   predict [HOST:PORT]      default 127.0.0.1:50051
/// Outside this tree: find_package(interlacer), then link interlacer::client.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <vector>

#include "client/interlacer_client.h"

using namespace interlacer;

namespace {

/// Two KUKA arms bent over the table with open grippers; the left one turns by 0.125 rad a step.
ActionSequence Motion(int first_step, int step_count) {
  constexpr float kArm[] = {0, 0.65f, 0, -1.89f, 0, 0.6f, 0, 0.04f};  // 7 joints, rad; gripper, m
  ActionSequence motion{ActionKind::kJointPositions, step_count, 2 * std::size(kArm), {}};
  for (int step = first_step; step < first_step + step_count; ++step) {
    const std::size_t left = motion.values.size();
    for (int arm = 0; arm < 2; ++arm) {
      motion.values.insert(motion.values.end(), std::begin(kArm), std::end(kArm));
    }
    motion.values[left] = 0.125f * static_cast<float>(step);
  }
  return motion;
}

/// A chequered table top, 1.2 m below the camera that looks straight down on it.
RgbdView TableView(const CameraSpec& spec, std::int64_t time_ns) {
  const int width_px = spec.width_px, height_px = spec.height_px;
  RgbdView view;
  view.camera_name = spec.name;
  view.capture_time_ns = time_ns;
  view.camera.width_px = width_px;
  view.camera.height_px = height_px;
  view.camera.fx_px = view.camera.fy_px = width_px;
  view.camera.cx_px = 0.5 * (width_px - 1);
  view.camera.cy_px = 0.5 * (height_px - 1);
  view.camera.world_from_camera = {{0, 0, 1.2}, {1, 0, 0, 0}};  // metres; quaternion x, y, z, w
  view.color = {width_px, height_px, {}};
  for (int i = 0; i < width_px * height_px; ++i) {
    const bool is_dark = (i % width_px / 8 + i / width_px / 8) % 2 == 0;
    view.color.pixels.insert(view.color.pixels.end(), 3, is_dark ? 60 : 190);
  }
  view.depth = {width_px, height_px, std::vector<float>(width_px * height_px, 1.2f)};
  return view;
}

/// Two observations, one model step apart, and what the robot did meanwhile.
SceneInput TableScene(const ModelMetadata& model) {
  SceneInput scene;
  for (int time = 0; time < model.history_step_count; ++time) {
    const auto time_ns = std::llround(time * model.step_duration_s * 1e9);
    Observation& observation = scene.observations.emplace_back();
    for (const CameraSpec& spec : model.cameras) {
      observation.views.push_back(TableView(spec, time_ns));
    }
  }
  scene.history_actions = Motion(0, model.history_step_count);
  return scene;
}

/// Mean of every `stride`-th value.
template <typename Value>
double Mean(const std::vector<Value>& values, std::size_t first, std::size_t stride) {
  double sum = 0;
  for (std::size_t i = first; i < values.size(); i += stride) sum += values[i];
  return sum * static_cast<double>(stride) / static_cast<double>(values.size());
}

Status Print(const PredictedStep& step) {
  const RgbImage& picture = step.views.at(0).color;
  std::printf("step %d: %d particles, %.3f cm high in the mean; %d x %d px, mean red %.2f\n",
              step.step, static_cast<int>(step.particle_count), 100 * Mean(step.positions_m, 2, 3),
              picture.width_px, picture.height_px, Mean(picture.pixels, 0, 3));
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  const char* address = argc > 1 ? argv[1] : "127.0.0.1:50051";
  auto client = Client::Create({.address = address}).value();
  CallOptions options;
  options.wait_for_ready = true;
  options.deadline_s = 120;
  const ModelMetadata model = client->GetModelMetadata(options).value();
  const SceneInput scene = TableScene(model);               // two observations, RGB-D
  const ActionSequence plan = Motion(/*first_step=*/2, 4);  // joint angles of the next 4 steps
  OutputOptions output;
  output.include_positions = true;
  output.render_targets.emplace_back().name = "view";
  output.render_targets[0].scene_camera_name = model.cameras[0].name;
  // Print gets every step while the next one is computed.
  const auto summary = client->PredictRollout(scene, plan, output, Print, options);
  if (!summary.ok()) std::fprintf(stderr, "%s\n", summary.status().ToString().c_str());
  return summary.ok() ? 0 : 1;
}
