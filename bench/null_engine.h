#pragma once

/// An engine that computes nothing: every scene lifts to the same few particles and every step
/// leaves them where they are. What a call costs with it is the server's share.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/models/engine.h"

namespace interlacer::bench {

struct NullScene final : Scene {
  const SceneReport& report() const override { return scene_report; }
  SceneReport scene_report;
};

class NullRollout final : public Rollout {
 public:
  explicit NullRollout(Particles particles) : particles_(std::move(particles)) {}
  int step() const override { return step_; }
  Status Step() override {
    ++step_;
    return Status::Ok();
  }
  std::int64_t particle_count() const override { return particles_.count; }
  StatusOr<const Particles*> ReadParticles() const override { return &particles_; }
  Status RenderRows(const Camera&, int, int, FloatImage*, DepthImage*) const override {
    return Unimplemented(reason::FEATURE_NOT_BUILT, "the null model renders nothing");
  }
  StatusOr<Camera> SceneCamera(const std::string& name) const override {
    return NotFound(reason::CAMERA_UNKNOWN, name);
  }

 private:
  Particles particles_;
  int step_ = 0;
};

class NullEngine final : public Engine {
 public:
  /// Frames of `width_px` x `height_px` from two cameras, no robot.
  NullEngine(std::string model_name, int width_px, int height_px, Particles particles)
      : particles_(std::move(particles)) {
    metadata_.model_name = std::move(model_name);
    metadata_.attention_variant = "none";
    metadata_.particle_count = particles_.count;
    metadata_.min_particle_count = 1;
    metadata_.cameras = {{"left", width_px, height_px}, {"right", width_px, height_px}};
    metadata_.workspace = {{-5, -5, -5}, {5, 5, 5}};
    metadata_.far_m = 10;
    metadata_.world_frame_name = "world";
    metadata_.trained_step_count = 1;
  }

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_name_; }
  bool is_device_fallback() const override { return false; }
  std::vector<std::string> features() const override { return {}; }
  Status WarmUp(std::stop_token) override { return Status::Ok(); }
  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput&) override {
    return std::shared_ptr<const Scene>(scene_);
  }
  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene>,
                                           const ActionSequence&) override {
    return std::unique_ptr<Rollout>(std::make_unique<NullRollout>(particles_));
  }

 private:
  Particles particles_;
  ModelMetadata metadata_;
  std::shared_ptr<const NullScene> scene_ = std::make_shared<NullScene>();
  const std::string device_name_ = "null";
};

}  // namespace interlacer::bench
