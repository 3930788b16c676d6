#pragma once

/// An Engine that answers in microseconds: particles are the valid pixels of the newest observation
/// and follow the action's first three numbers; a view shows one colour. Tests steer it through
/// MockControls, from any thread.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/models/engine.h"

namespace interlacer::testing {

/// Lets every unit of work through, or a counted number of them.
class Gate {
 public:
  void Close() {
    std::lock_guard lock(mutex_);
    allowed_ = 0;
  }
  /// Lets `count` more units through a closed gate.
  void Allow(std::int64_t count) {
    std::lock_guard lock(mutex_);
    allowed_ += count;
    changed_.notify_all();
  }
  void Open() {
    std::lock_guard lock(mutex_);
    allowed_ = kUnlimited;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return allowed_ > 0; });
    --waiting_;
    --allowed_;
  }
  /// Waits until a unit stands at the closed gate; false when none came.
  bool WaitForUnit() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return waiting_ > 0; });
  }

 private:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t allowed_ = kUnlimited;
  int waiting_ = 0;
};

struct MockControls {
  std::atomic<int> lift_count{0};
  std::atomic<int> step_count{0};
  std::atomic<int> tile_count{0};
  /// Reads of a step's particles: copies from a device.
  std::atomic<int> read_count{0};
  /// Rollouts that are alive: device state that was not freed yet.
  std::atomic<int> live_rollouts{0};
  /// Predictions from this step on are not finite.
  std::atomic<int> nan_from_step{std::numeric_limits<int>::max()};
  /// Every unit of work takes at least this long.
  std::atomic<double> unit_s{0};
  /// Reported at warm-up.
  double step_cost_s = 0;
  double render_cost_s = 0;
  Status warm_up_status;
  /// Returned by Lift when not OK; else the scene reports these findings too.
  Status lift_status;
  std::vector<Finding> lift_findings;
  /// Returned by the next Step when not OK.
  Status step_status;
  Gate gate;
  Gate warm_up_gate;
};

inline ModelMetadata MockMetadata() {
  ModelMetadata metadata;
  metadata.model_name = "mock";
  metadata.weights_sha256 = std::string(64, 'a');
  metadata.config_sha256 = std::string(64, 'b');
  metadata.attention_variant = "none";
  metadata.particle_count = 1024;
  metadata.min_particle_count = 16;
  metadata.cameras = {{"left", 16, 12}, {"right", 16, 12}};
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

class MockScene final : public Scene {
 public:
  const SceneReport& report() const override { return scene_report; }

  Particles particles;
  std::vector<Camera> cameras;
  std::vector<std::string> names;
  /// Newest row of the history; empty without a robot.
  std::vector<float> last_row;
  SceneReport scene_report;
};

class MockRollout final : public Rollout {
 public:
  MockRollout(std::shared_ptr<const MockScene> scene, ActionSequence actions,
              std::shared_ptr<MockControls> controls)
      : scene_(std::move(scene)),
        actions_(std::move(actions)),
        controls_(std::move(controls)),
        particles_(scene_->particles) {
    ++controls_->live_rollouts;
  }
  ~MockRollout() override { --controls_->live_rollouts; }

  int step() const override { return step_; }

  Status Step() override {
    Work();
    ++controls_->step_count;
    if (!controls_->step_status.ok()) return controls_->step_status;
    if (step_ + 1 >= controls_->nan_from_step) {
      return DataLoss(reason::PREDICTION_NOT_FINITE, "not finite")
          .WithMetadata("step", std::to_string(step_ + 1));
    }
    const std::vector<float> before = Row(step_ - 1);
    const std::vector<float> now = Row(step_);
    ++step_;
    for (std::int64_t i = 0; i < 3 * particles_.count; ++i) {
      const std::size_t axis = i % 3;
      if (axis < now.size()) particles_.positions_m[i] += now[axis] - before[axis];
    }
    return Status::Ok();
  }

  std::int64_t particle_count() const override { return particles_.count; }
  StatusOr<const Particles*> ReadParticles() const override {
    ++controls_->read_count;
    return &particles_;
  }

  Status RenderRows(const Camera& camera, int row_begin, int row_end, FloatImage* color,
                    DepthImage* depth) const override {
    Work();
    ++controls_->tile_count;
    const int rows = row_end - row_begin;
    const std::size_t pixels = std::size_t(rows) * camera.width_px;
    *color = {camera.width_px, rows, 3, std::vector<float>(3 * pixels, 0.5f)};
    *depth = {camera.width_px, rows, std::vector<float>(pixels, 1.0f + step_)};
    return Status::Ok();
  }

  StatusOr<Camera> SceneCamera(const std::string& name) const override {
    for (std::size_t i = 0; i < scene_->names.size(); ++i) {
      if (scene_->names[i] == name) return scene_->cameras[i];
    }
    return NotFound(reason::CAMERA_UNKNOWN, name);
  }

 private:
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

  const std::shared_ptr<const MockScene> scene_;
  const ActionSequence actions_;
  const std::shared_ptr<MockControls> controls_;
  Particles particles_;
  int step_ = 0;
};

class MockEngine final : public Engine {
 public:
  explicit MockEngine(std::shared_ptr<MockControls> controls,
                      ModelMetadata metadata = MockMetadata())
      : controls_(std::move(controls)), metadata_(std::move(metadata)) {}

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_name_; }
  bool is_device_fallback() const override { return false; }
  std::vector<std::string> features() const override { return {"renderer"}; }

  Status WarmUp(std::stop_token) override {
    controls_->warm_up_gate.Pass();
    metadata_.step_cost_s = controls_->step_cost_s;
    metadata_.render_cost_s = controls_->render_cost_s;
    return controls_->warm_up_status;
  }

  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    controls_->gate.Pass();
    std::this_thread::sleep_for(std::chrono::duration<double>(controls_->unit_s));
    ++controls_->lift_count;
    if (!controls_->lift_status.ok()) return controls_->lift_status;
    auto scene = std::make_shared<MockScene>();
    scene->scene_report.findings = controls_->lift_findings;
    for (const RgbdView& view : input.observations.back().views) {
      const std::int64_t before = scene->particles.count;
      AddPoints(view, &scene->particles);
      const double ratio = static_cast<double>(scene->particles.count - before) /
                           static_cast<double>(view.depth.pixels_m.size());
      scene->scene_report.cameras.push_back({view.camera_name, ratio, 1, 1});
      if (view.color.width_px != metadata_.cameras[0].width_px) {
        scene->scene_report.findings.push_back({"IMAGE_RESAMPLED", "", "observations[1]"});
      }
      scene->cameras.push_back(view.camera);
      scene->cameras.back().width_px = metadata_.cameras[0].width_px;
      scene->cameras.back().height_px = metadata_.cameras[0].height_px;
      scene->names.push_back(view.camera_name);
    }
    const std::int64_t count = scene->particles.count;
    scene->scene_report.candidate_point_count = count;
    if (count < metadata_.min_particle_count) {
      return InvalidArgument(reason::TOO_FEW_VALID_POINTS, std::to_string(count) + " valid points")
          .WithField("observations[1]");
    }
    const ActionSequence& history = input.history_actions;
    scene->last_row.assign(history.values.end() - history.column_count, history.values.end());
    return std::shared_ptr<const Scene>(std::move(scene));
  }

  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence& actions) override {
    return std::unique_ptr<Rollout>(std::make_unique<MockRollout>(
        std::static_pointer_cast<const MockScene>(std::move(scene)), actions, controls_));
  }

 private:
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

  const std::shared_ptr<MockControls> controls_;
  ModelMetadata metadata_;
  const std::string device_name_ = "mock";
};

}  // namespace interlacer::testing
