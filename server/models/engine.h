#pragma once

/// What the server sees of a model: lift frames, begin a rollout, take one unit of work at a time.
///
/// The units are Engine::Lift, Rollout::Step and Rollout::RenderRows (model/predictor.h,
/// torch-free); between two units the device worker may turn to another call or drop a cancelled
/// one. EngineImpl runs a checkpoint; tests use MockEngine (tests/support/mock_engine.h). Threads:
/// Load, WarmUp, Lift, Begin and everything on their results run on one thread at a time;
/// metadata(), device_name() and is_device_fallback() may be read from anywhere once WarmUp is
/// done.

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "model/predictor.h"

namespace interlacer {

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const ModelMetadata& metadata() const = 0;
  /// "cpu" or "cuda:0 NAME".
  virtual const std::string& device_name() const = 0;
  virtual bool is_device_fallback() const = 0;
  /// Parts in this build: "cuda", "renderer", "forward_kinematics".
  virtual std::vector<std::string> features() const = 0;

  /// Runs the checkpoint's warm-up scene, compares it with the stored values and fills the costs of
  /// metadata(). Stops early with CANCELLED when asked to. Errors: FAILED_PRECONDITION
  /// MODEL_LOAD_FAILED on a mismatch.
  virtual Status WarmUp(std::stop_token stop) = 0;

  virtual StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) = 0;
  virtual StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                                   const ActionSequence& actions) = 0;
};

/// Loads one model; called on the loading thread of the server.
using EngineFactory = std::function<StatusOr<std::unique_ptr<Engine>>()>;

}  // namespace interlacer
