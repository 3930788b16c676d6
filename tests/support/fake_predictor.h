#pragma once

/// A Predictor without a network, which responds in microseconds. Particles are the valid pixels of
/// the newest observation, or given ones, and follow the action's first three numbers; a spread is
/// FakeSpread; a view encodes the positions of its pixels and its step. Deterministic; it refuses
/// what the real one checks first. Tests control it through FakeControls, from any thread.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/predictor.h"
#include "tests/support/gate.h"

namespace interlacer::testing {

/// A value that one thread sets while others read it.
template <typename T>
class Shared {
 public:
  void operator=(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
  }
  T Read() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

struct FakeControls {
  std::atomic<int> lift_count{0};
  std::atomic<int> step_count{0};
  std::atomic<int> tile_count{0};
  std::atomic<int> field_tile_count{0};
  std::atomic<int> observed_tile_count{0};
  /// Rows of the newest tile.
  std::atomic<int> tile_row_count{0};
  /// Number of views of observed pixels that were begun without a row.
  std::atomic<int> carry_count{0};
  /// Number of reads of a step's particles, which are copies from a device.
  std::atomic<int> read_count{0};
  /// Number of live rollouts and scenes, which hold device state, and who freed the last scene.
  std::atomic<int> live_rollouts{0};
  std::atomic<int> live_scenes{0};
  std::atomic<std::thread::id> freeing_thread{};
  /// The thread that lifts.
  std::atomic<std::thread::id> lifting_thread{};
  /// What a scene says of its memory.
  std::atomic<std::int64_t> scene_bytes{1000};
  /// First step from which predictions are not finite.
  std::atomic<int> nan_from_step{std::numeric_limits<int>::max()};
  /// Predictions are not finite where the first joint is commanded to this or beyond.
  std::atomic<float> nan_from_value{std::numeric_limits<float>::infinity()};
  /// Added to every number of a view.
  std::atomic<float> view_offset{0};
  /// Every unit of work takes at least this long.
  std::atomic<double> unit_s{0};
  /// So many lifts and steps from now on find no memory on the device.
  std::atomic<int> no_memory_count{0};
  /// And so many reads of particles.
  std::atomic<int> no_memory_reads{0};
  /// Returned by Lift when not OK; else the scene reports these findings too.
  Shared<Status> lift_status;
  Shared<std::vector<Finding>> lift_findings;
  /// Returned by the next Step unless OK.
  Shared<Status> step_status;
  /// Memory of the device before the first lift; absent: nothing is told.
  Shared<std::optional<DeviceMemory>> memory;
  /// What a call holds there from its lift on, and within a unit.
  std::atomic<std::int64_t> held_bytes{0}, peak_bytes{0};
  /// Particles of every scene, instead of those of its pixels; set before the first call.
  std::optional<Particles> particles;
  Gate gate;

  Status TakeMemory(std::atomic<int> FakeControls::*count = &FakeControls::no_memory_count) {
    if (this->*count == 0) return Status::Ok();
    --(this->*count);
    return ResourceExhausted(reason::DEVICE_OUT_OF_MEMORY, "no room on the device");
  }
};

/// An observed view has this much more blue than the field's.
inline constexpr float kFakeObservedBlue = 0.05f;

/// Two cameras, a robot of three joints.
inline ModelMetadata FakeMetadata(int width_px = 16, int height_px = 12) {
  ModelMetadata metadata;
  metadata.model_name = "fake";
  metadata.weights_sha256 = std::string(64, 'a');
  metadata.config_sha256 = std::string(64, 'b');
  metadata.attention_variant = "none";
  metadata.particle_count = 1024;
  metadata.min_particle_count = 16;
  metadata.cameras = {{"left", width_px, height_px}, {"right", width_px, height_px}};
  metadata.workspace = {{-5, -5, -5}, {5, 5, 5}};
  metadata.near_m = 0.1;
  metadata.far_m = 10;
  metadata.world_frame_name = "world";
  metadata.accepts_joint_positions = true;
  metadata.accepts_kinematic_points = true;
  metadata.action_columns = {{"joint_1_rad", ActionUnit::kRadians, -3, 3, 1.5},
                             {"joint_2_rad", ActionUnit::kRadians, -3, 3, 0},
                             {"gripper_m", ActionUnit::kMeters, 0, 0.04, 0}};
  metadata.kinematic_point_names = {"hand", "elbow"};
  metadata.trained_step_count = 4;
  return metadata;
}

/// Rows [row_begin,row_end) of the view of a step.
inline FloatImage FakeColors(const Camera& camera, int step, int row_begin, int row_end) {
  FloatImage color{camera.width_px, row_end - row_begin, 3, {}};
  for (int row = row_begin; row < row_end; ++row) {
    for (int column = 0; column < camera.width_px; ++column) {
      color.pixels.push_back(static_cast<float>(column) / static_cast<float>(camera.width_px));
      color.pixels.push_back(static_cast<float>(row) / static_cast<float>(camera.height_px));
      color.pixels.push_back(0.1f * static_cast<float>(step));
    }
  }
  return color;
}
inline DepthImage FakeDepth(const Camera& camera, int step, int row_begin, int row_end) {
  DepthImage depth{camera.width_px, row_end - row_begin, {}};
  for (int row = row_begin; row < row_end; ++row) {
    for (int column = 0; column < camera.width_px; ++column) {
      depth.pixels_m.push_back(0.5f + static_cast<float>(step) +
                               0.001f * static_cast<float>(row * 7 + column));
    }
  }
  return depth;
}

/// Of a particle at a step.
inline float FakeSpread(int step, std::int64_t particle) {
  return 0.001f * static_cast<float>(step) + 1e-6f * static_cast<float>(step * particle);
}

class FakeScene final : public Scene {
 public:
  explicit FakeScene(std::shared_ptr<FakeControls> controls) : controls_(std::move(controls)) {
    ++controls_->live_scenes;
  }
  ~FakeScene() override {
    controls_->freeing_thread = std::this_thread::get_id();
    --controls_->live_scenes;
  }
  const SceneReport& report() const override { return scene_report; }
  const std::vector<RgbdView>& newest_views() const override { return views; }
  std::int64_t size_bytes() const override { return controls_->scene_bytes; }

  Particles particles;
  std::vector<RgbdView> views;
  std::vector<Camera> cameras;
  std::vector<std::string> names;
  /// Newest row of the history; empty without a robot.
  std::vector<float> last_row;
  SceneReport scene_report;

 private:
  const std::shared_ptr<FakeControls> controls_;
};

class FakeRollout final : public Rollout {
 public:
  FakeRollout(std::shared_ptr<const FakeScene> scene, ActionSequence actions,
              std::shared_ptr<FakeControls> controls)
      : scene_(std::move(scene)),
        actions_(std::move(actions)),
        controls_(std::move(controls)),
        particles_(scene_->particles) {
    ++controls_->live_rollouts;
  }
  ~FakeRollout() override { --controls_->live_rollouts; }

  int step() const override { return step_; }

  Status Step() override {
    Work();
    ++controls_->step_count;
    INTERLACER_RETURN_IF_ERROR(controls_->TakeMemory());
    if (const Status status = controls_->step_status.Read(); !status.ok()) return status;
    const std::vector<float> before = Row(step_ - 1);
    const std::vector<float> now = Row(step_);
    const bool is_beyond = !now.empty() && now.front() >= controls_->nan_from_value;
    if (is_beyond || step_ + 1 >= controls_->nan_from_step) {
      return DataLoss(reason::PREDICTION_NOT_FINITE, "not finite")
          .WithMetadata("step", std::to_string(step_ + 1));
    }
    ++step_;
    for (std::int64_t i = 0; i < 3 * particles_.count; ++i) {
      const std::size_t axis = i % 3;
      if (axis < now.size()) particles_.positions_m[i] += now[axis] - before[axis];
    }
    SetSpreads();
    return Status::Ok();
  }
  Status MeasureSpread() override {
    particles_.spread_m.resize(static_cast<std::size_t>(particles_.count));
    SetSpreads();
    return Status::Ok();
  }

  std::int64_t particle_count() const override { return particles_.count; }
  StatusOr<const Particles*> ReadParticles() const override {
    ++controls_->read_count;
    INTERLACER_RETURN_IF_ERROR(controls_->TakeMemory(&FakeControls::no_memory_reads));
    return &particles_;
  }

  Status RenderRows(const Camera& camera, int row_begin, int row_end, RenderMode mode,
                    bool needs_depth, FloatImage* color, DepthImage* depth) const override {
    Work();
    const bool is_field = mode == RenderMode::kField;
    if (row_end > row_begin) {
      ++controls_->tile_count;
      controls_->tile_row_count = row_end - row_begin;
      ++(is_field ? controls_->field_tile_count : controls_->observed_tile_count);
    } else if (!is_field) {
      ++controls_->carry_count;
    }
    *color = FakeColors(camera, step_, row_begin, row_end);
    *depth = FakeDepth(camera, step_, row_begin, row_end);
    for (float& value : color->pixels) value += controls_->view_offset;
    for (float& value : depth->pixels_m) value += controls_->view_offset;
    if (is_field) return Status::Ok();
    for (std::size_t i = 2; i < color->pixels.size(); i += 3) color->pixels[i] += kFakeObservedBlue;
    if (!needs_depth) depth->pixels_m.assign(depth->pixels_m.size(), std::nanf(""));
    return Status::Ok();
  }

  StatusOr<Camera> SceneCamera(const std::string& name) const override {
    for (std::size_t i = 0; i < scene_->names.size(); ++i) {
      if (scene_->names[i] == name) return scene_->cameras[i];
    }
    return NotFound(reason::CAMERA_UNKNOWN, name);
  }

 private:
  void SetSpreads() {
    for (std::size_t i = 0; i < particles_.spread_m.size(); ++i) {
      particles_.spread_m[i] = FakeSpread(step_, static_cast<std::int64_t>(i));
    }
  }
  void Work() const {
    controls_->gate.Pass();
    std::this_thread::sleep_for(std::chrono::duration<double>(controls_->unit_s));
  }
  /// Action row by index; -1 is the last row of the history.
  std::vector<float> Row(int index) const {
    if (index < 0) return scene_->last_row;
    if (actions_.kind == ActionKind::kNone) return {};
    const float* row = actions_.values.data() + index * actions_.column_count;
    return {row, row + actions_.column_count};
  }

  const std::shared_ptr<const FakeScene> scene_;
  const ActionSequence actions_;
  const std::shared_ptr<FakeControls> controls_;
  Particles particles_;
  int step_ = 0;
};

class FakePredictor final : public Predictor {
 public:
  explicit FakePredictor(ModelMetadata metadata = FakeMetadata(),
                         std::shared_ptr<FakeControls> controls = std::make_shared<FakeControls>())
      : metadata_(std::move(metadata)), controls_(std::move(controls)) {}

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_name_; }
  bool is_device_fallback() const override { return false; }
  std::optional<DeviceMemory> ReadMemory() const override {
    auto memory = controls_->memory.Read();
    if (memory && controls_->lift_count > 0) {
      memory->peak_bytes = memory->held_bytes + controls_->peak_bytes;
      memory->held_bytes += controls_->held_bytes;
    }
    return memory;
  }

  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    controls_->gate.Pass();
    std::this_thread::sleep_for(std::chrono::duration<double>(controls_->unit_s));
    ++controls_->lift_count;
    controls_->lifting_thread = std::this_thread::get_id();
    INTERLACER_RETURN_IF_ERROR(controls_->TakeMemory());
    if (const Status status = controls_->lift_status.Read(); !status.ok()) return status;
    if (input.observations.size() != 2) {
      return Mismatch(reason::HISTORY_LENGTH, "observations", "2",
                      std::to_string(input.observations.size()));
    }
    auto scene = std::make_shared<FakeScene>(controls_);
    scene->views = input.observations.back().views;
    scene->scene_report.findings = controls_->lift_findings.Read();
    if (controls_->particles) scene->particles = *controls_->particles;
    for (const RgbdView& view : input.observations.back().views) AddView(view, scene.get());
    const std::int64_t count = scene->particles.count;
    scene->scene_report.candidate_point_count = count;
    if (!controls_->particles && count < metadata_.min_particle_count) {
      return InvalidArgument(reason::TOO_FEW_VALID_POINTS, std::to_string(count) + " valid points")
          .WithField("observations[1]");
    }
    const ActionSequence& history = input.history_actions;
    scene->last_row.assign(history.values.end() - history.column_count, history.values.end());
    return std::shared_ptr<const Scene>(std::move(scene));
  }

  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence& actions,
                                           MotionSource /*motion*/) override {
    return std::unique_ptr<Rollout>(std::make_unique<FakeRollout>(
        std::static_pointer_cast<const FakeScene>(std::move(scene)), actions, controls_));
  }

 private:
  void AddView(const RgbdView& view, FakeScene* scene) const {
    double ratio = 1;
    if (!controls_->particles) {
      const std::int64_t before = scene->particles.count;
      AddPoints(view, &scene->particles);
      ratio = static_cast<double>(scene->particles.count - before) /
              static_cast<double>(view.depth.pixels_m.size());
    }
    scene->scene_report.cameras.push_back({view.camera_name, ratio, 1, 1});
    if (view.color.width_px != metadata_.cameras[0].width_px) {
      scene->scene_report.findings.push_back({"IMAGE_RESAMPLED", "", "observations[1]"});
    }
    scene->cameras.push_back(RectifiedCamera(view.camera));
    scene->cameras.back().width_px = metadata_.cameras[0].width_px;
    scene->cameras.back().height_px = metadata_.cameras[0].height_px;
    scene->names.push_back(view.camera_name);
  }

  static void AddPoints(const RgbdView& view, Particles* particles) {
    for (std::size_t i = 0; i < view.depth.pixels_m.size(); ++i) {
      const float depth_m = view.depth.pixels_m[i];
      if (!std::isfinite(depth_m)) continue;
      const int column = static_cast<int>(i) % view.depth.width_px;
      const int row = static_cast<int>(i) / view.depth.width_px;
      const Vec3d point_m = Unproject(view.camera, column, row, depth_m);
      for (const double x : point_m) particles->positions_m.push_back(static_cast<float>(x));
      particles->colors_rgb8.insert(particles->colors_rgb8.end(), view.color.pixels.begin() + 3 * i,
                                    view.color.pixels.begin() + 3 * i + 3);
      ++particles->count;
    }
  }

  const ModelMetadata metadata_;
  const std::shared_ptr<FakeControls> controls_;
  const std::string device_name_ = "cpu";
};

/// 8 x 8 particles 5 cm apart, all of other colours.
inline Particles FakeGrid() {
  Particles particles;
  particles.count = 64;
  for (int i = 0; i < 64; ++i) {
    for (const float p : {0.05f * static_cast<float>(i % 8) - 0.2f,
                          0.05f * static_cast<float>(i / 8) - 0.2f, 0.1f}) {
      particles.positions_m.push_back(p);
    }
    for (int c = 0; c < 3; ++c) {
      particles.colors_rgb8.push_back(static_cast<std::uint8_t>(3 * i + c));
    }
  }
  return particles;
}

/// Two observations of the model's cameras, a plane at 0.8 m; the robot at rest.
inline SceneInput FakeSceneInput(const ModelMetadata& metadata = FakeMetadata()) {
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
  input.history_actions = {ActionKind::kJointPositions, 2, 3, std::vector<float>(6)};
  return input;
}

/// Rows that each move the particles by 1 cm along x.
inline ActionSequence FakeActions(int row_count) {
  ActionSequence actions{ActionKind::kJointPositions, row_count, 3, {}};
  for (int row = 1; row <= row_count; ++row) {
    actions.values.insert(actions.values.end(), {0.01f * static_cast<float>(row), 0, 0});
  }
  return actions;
}

}  // namespace interlacer::testing
