#pragma once

/// A predictor without a network: particles on a grid that drift by 1 cm a step along x, views
/// whose colours follow from pixel and step. Deterministic; refuses what the real one refuses
/// first.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/predictor.h"

namespace interlacer {

inline ModelMetadata FakeMetadata(int width_px = 32, int height_px = 24) {
  ModelMetadata m;
  m.model_name = "fake";
  m.weights_sha256 = std::string(64, 'a');
  m.config_sha256 = std::string(64, 'b');
  m.attention_variant = "none";
  m.particle_count = 64;
  m.min_particle_count = 1;
  m.cameras = {{"left", width_px, height_px}, {"right", width_px, height_px}};
  m.workspace = {{-1, -1, -1}, {1, 1, 1}};
  m.world_frame_name = "table_center";
  m.accepts_joint_positions = true;
  m.action_columns = {{"joint_1_rad", ActionUnit::kRadians, -3, 3, 0},
                      {"joint_2_rad", ActionUnit::kRadians, -3, 3, 0}};
  m.trained_step_count = 2;
  return m;
}

class FakeScene : public Scene {
 public:
  explicit FakeScene(const SceneInput& input) : input_(input) {
    report_.candidate_point_count = 64;
    report_.cameras = {{"left", 1, 1, 0.8}, {"right", 1, 1, 0.8}};
  }
  const SceneReport& report() const override { return report_; }
  const SceneInput& input() const { return input_; }

 private:
  SceneInput input_;
  SceneReport report_;
};

class FakeRollout : public Rollout {
 public:
  explicit FakeRollout(std::shared_ptr<const FakeScene> scene) : scene_(std::move(scene)) {
    particles_.count = 64;
    for (int i = 0; i < 64; ++i) {
      for (const float p : {0.05f * static_cast<float>(i % 8) - 0.2f,
                            0.05f * static_cast<float>(i / 8) - 0.2f, 0.1f}) {
        particles_.positions_m.push_back(p);
      }
      for (int c = 0; c < 3; ++c) {
        particles_.colors_rgb8.push_back(static_cast<std::uint8_t>(3 * i + c));
      }
    }
  }
  int step() const override { return step_; }
  Status Step() override {
    ++step_;
    for (std::size_t i = 0; i < particles_.positions_m.size(); i += 3) {
      particles_.positions_m[i] += 0.01f;
    }
    return Status::Ok();
  }
  std::int64_t particle_count() const override { return particles_.count; }
  StatusOr<const Particles*> ReadParticles() const override { return &particles_; }
  Status RenderRows(const Camera& camera, int row_begin, int row_end, FloatImage* color,
                    DepthImage* depth) const override {
    *color = {camera.width_px, row_end - row_begin, 3, {}};
    *depth = {camera.width_px, row_end - row_begin, {}};
    for (int row = row_begin; row < row_end; ++row) {
      for (int column = 0; column < camera.width_px; ++column) {
        color->pixels.push_back(static_cast<float>(column) / static_cast<float>(camera.width_px));
        color->pixels.push_back(static_cast<float>(row) / static_cast<float>(camera.height_px));
        color->pixels.push_back(0.1f * static_cast<float>(step_));
        depth->pixels_m.push_back(0.5f + 0.001f * static_cast<float>(row * 7 + column));
      }
    }
    return Status::Ok();
  }
  StatusOr<Camera> SceneCamera(const std::string& name) const override {
    for (const RgbdView& view : scene_->input().observations.back().views) {
      if (view.camera_name == name) return view.camera;
    }
    return NotFound(reason::CAMERA_UNKNOWN, "no camera " + name);
  }

 private:
  std::shared_ptr<const FakeScene> scene_;
  Particles particles_;
  int step_ = 0;
};

class FakePredictor : public Predictor {
 public:
  explicit FakePredictor(ModelMetadata metadata = FakeMetadata())
      : metadata_(std::move(metadata)) {}
  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_; }
  bool is_device_fallback() const override { return false; }
  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    if (input.observations.size() != 2) {
      return Mismatch(reason::HISTORY_LENGTH, "observations", "2",
                      std::to_string(input.observations.size()));
    }
    return std::shared_ptr<const Scene>(std::make_shared<FakeScene>(input));
  }
  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence&) override {
    return std::unique_ptr<Rollout>(
        std::make_unique<FakeRollout>(std::static_pointer_cast<const FakeScene>(scene)));
  }

 private:
  ModelMetadata metadata_;
  std::string device_ = "cpu";
};

/// Two cameras, two observations, 320 x 240 or whatever the model takes, a plane at 0.8 m.
inline SceneInput FakeSceneInput(const ModelMetadata& metadata) {
  SceneInput input;
  for (int time = 0; time < 2; ++time) {
    Observation observation;
    for (std::size_t c = 0; c < metadata.cameras.size(); ++c) {
      const CameraSpec& spec = metadata.cameras[c];
      RgbdView view;
      view.camera_name = spec.name;
      view.camera.width_px = spec.width_px;
      view.camera.height_px = spec.height_px;
      view.camera.fx_px = view.camera.fy_px = spec.width_px;
      view.camera.cx_px = (spec.width_px - 1) / 2.0;
      view.camera.cy_px = (spec.height_px - 1) / 2.0;
      view.camera.world_from_camera.translation_m = {0.05 * static_cast<double>(c), 0, -0.5};
      const std::size_t n = static_cast<std::size_t>(spec.width_px) * spec.height_px;
      view.color = {spec.width_px, spec.height_px, std::vector<std::uint8_t>(3 * n)};
      for (std::size_t i = 0; i < 3 * n; ++i) {
        view.color.pixels[i] = static_cast<std::uint8_t>(i * 31 + 7 * c);
      }
      view.depth = {spec.width_px, spec.height_px, std::vector<float>(n, 0.8f)};
      view.capture_time_ns = 500'000'000ll * time;
      observation.views.push_back(std::move(view));
    }
    input.observations.push_back(std::move(observation));
  }
  input.history_actions = {ActionKind::kJointPositions, 2, 2, {0.f, 0.1f, 0.2f, 0.3f}};
  return input;
}

inline ActionSequence FakeActions(int row_count) {
  ActionSequence actions{ActionKind::kJointPositions, row_count, 2, {}};
  for (int i = 0; i < 2 * row_count; ++i) {
    actions.values.push_back(0.05f * static_cast<float>(i));
  }
  return actions;
}

}  // namespace interlacer
