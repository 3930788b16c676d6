#pragma once

/// Engine over a checkpoint: model/predictor.h does the work, server/models/warm_up.h the first
/// run. Contract, threads and errors: server/models/engine.h; loading adds those of
/// Predictor::Load.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/device.h"
#include "server/models/engine.h"

namespace interlacer {

class EngineImpl final : public Engine {
 public:
  static StatusOr<std::unique_ptr<Engine>> Load(const std::string& model_name,
                                                const std::string& checkpoint_dir,
                                                DeviceRequest device);

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return predictor_->device_name(); }
  bool is_device_fallback() const override { return predictor_->is_device_fallback(); }
  std::vector<std::string> features() const override;
  Status WarmUp(std::stop_token stop) override;
  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    return predictor_->Lift(input);
  }
  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence& actions) override {
    return predictor_->Begin(std::move(scene), actions);
  }

 private:
  EngineImpl(std::unique_ptr<Predictor> predictor, std::string checkpoint_dir);

  const std::unique_ptr<Predictor> predictor_;
  const std::string checkpoint_dir_;
  /// The predictor's, with the costs measured at warm-up.
  ModelMetadata metadata_;
};

/// Stores the results of warmup/episode as warmup/expected.json of the checkpoint.
Status RecordWarmUpOf(const std::string& model_name, const std::string& checkpoint_dir,
                      DeviceRequest device);

EngineFactory MakeEngineFactory(std::string model_name, std::string checkpoint_dir,
                                DeviceRequest device);

}  // namespace interlacer
