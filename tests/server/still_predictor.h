#pragma once

/// The FakePredictor, whose steps ask no network: of scenes without a robot alone, or all.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_predictor.h"

namespace interlacer::testing {

class StillRollout final : public Rollout {
 public:
  explicit StillRollout(std::unique_ptr<Rollout> rollout) : rollout_(std::move(rollout)) {}

  int step() const override { return rollout_->step(); }
  bool asks_network() const override { return false; }
  Status Step() override { return rollout_->Step(); }
  Status MeasureSpread() override { return rollout_->MeasureSpread(); }
  std::int64_t particle_count() const override { return rollout_->particle_count(); }
  StatusOr<const Particles*> ReadParticles() const override { return rollout_->ReadParticles(); }
  Status RenderRows(const Camera& camera, int row_begin, int row_end, RenderMode mode,
                    bool needs_depth, FloatImage* color, DepthImage* depth) const override {
    return rollout_->RenderRows(camera, row_begin, row_end, mode, needs_depth, color, depth);
  }
  StatusOr<Camera> SceneCamera(const std::string& name) const override {
    return rollout_->SceneCamera(name);
  }

 private:
  const std::unique_ptr<Rollout> rollout_;
};

class StillPredictor final : public Predictor {
 public:
  StillPredictor(std::shared_ptr<FakeControls> controls, bool is_always_still)
      : fake_(FakeMetadata(), std::move(controls)), is_always_still_(is_always_still) {}

  const ModelMetadata& metadata() const override { return fake_.metadata(); }
  const std::string& device_name() const override { return fake_.device_name(); }
  bool is_device_fallback() const override { return false; }
  bool AsksNetwork(ActionKind history, MotionSource motion) const override {
    return !is_always_still_ && history != ActionKind::kNone && motion == MotionSource::kModel;
  }
  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    return fake_.Lift(input);
  }
  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence& actions,
                                           MotionSource motion) override {
    INTERLACER_ASSIGN_OR_RETURN(std::unique_ptr<Rollout> rollout,
                                fake_.Begin(std::move(scene), actions, motion));
    if (AsksNetwork(actions.kind, motion)) return rollout;
    return std::unique_ptr<Rollout>(std::make_unique<StillRollout>(std::move(rollout)));
  }

 private:
  FakePredictor fake_;
  const bool is_always_still_;
};

}  // namespace interlacer::testing
