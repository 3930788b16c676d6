#pragma once

/// Predicts the motion of a scene: frames in, particles and rendered views out. Free of LibTorch.
///
/// A Predictor is a loaded checkpoint on one device. Lift makes a Scene (two particle clouds and
/// the kinematic history), Begin a Rollout over it; each Rollout::Step is one dynamics step, so
/// callers can stop between steps; model/rollout_runner.h splits it into units of work. Torch
/// exceptions become Status here. Determinism: equal inputs and seed give equal bytes on one build
/// and device. Threads: one call at a time per Predictor and its scenes and rollouts (the device
/// worker's rule); metadata() and AsksNetwork are for any thread.
/// Errors: INVALID_ARGUMENT TOO_FEW_VALID_POINTS, ACTION_*; DATA_LOSS PREDICTION_NOT_FINITE;
/// FAILED_PRECONDITION CHECKPOINT_INVALID; UNIMPLEMENTED FEATURE_NOT_BUILT; those of
/// model/lifting/scene_views.h and model/runtime/torch_errors.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/device.h"
#include "common/image.h"
#include "common/model_metadata.h"
#include "common/particles.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

struct CudaBackend;

struct PredictorOptions {
  std::string model_name = "default";
  DeviceRequest device = DeviceRequest::kAuto;
  /// Replaces the robot motion of the checkpoint's configuration.
  std::optional<RobotMotion> robot_motion{};
  /// The program's (model/cuda/built_backend.h); without one there is no CUDA device.
  const CudaBackend* cuda = nullptr;
};

/// A lifted scene; immutable, rollouts may share it.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual const SceneReport& report() const = 0;
  /// The newest observation as it was sent, in the order of the model's cameras. Any thread.
  virtual const std::vector<RgbdView>& newest_views() const = 0;
  /// Memory of the scene, on the host and on the device, with what rollouts add on first use.
  virtual std::int64_t size_bytes() const = 0;
};

class Rollout {
 public:
  virtual ~Rollout() = default;
  /// Number of steps done: 0 after Begin (the reconstruction).
  virtual int step() const = 0;
  /// Whether steps ask the network. Those that do not take next to no time.
  virtual bool asks_network() const { return true; }
  /// Computes the next step; needs an action row for it unless the scene has no robot. A predicted
  /// value that is not finite is DATA_LOSS PREDICTION_NOT_FINITE with metadata `step`. After an
  /// error the rollout is unchanged.
  virtual Status Step() = 0;
  /// Before the first step: from then on particles carry a spread, and each step takes as long as
  /// kSpreadStepCount.
  virtual Status MeasureSpread() = 0;
  /// Number of particles of the scene, equal in every step.
  virtual std::int64_t particle_count() const = 0;
  /// Positions of the current step, and colours of the source pixels. The pointer is valid for the
  /// lifetime of the rollout; reading a later step overwrites its target. A device copies positions
  /// to the host only when a step is first read.
  virtual StatusOr<const Particles*> ReadParticles() const = 0;
  /// Rows [row_begin,row_end) of a view of the current step; `camera` is rectified. Colour in [0,1]
  /// on white, [rows,width,3]; depth along z in metres, [rows,width]: expected depth, far where the
  /// ray is empty, or with kObserved that of what was carried there. Without `needs_depth` observed
  /// pixels of unknown depth may have NaN, which saves their rays. With kObserved the first rows of
  /// a view carry the pixels of all of it.
  virtual Status RenderRows(const Camera& camera, int row_begin, int row_end, RenderMode mode,
                            bool needs_depth, FloatImage* color, DepthImage* depth) const = 0;
  /// Newest calibration of a scene camera, rectified; NOT_FOUND CAMERA_UNKNOWN for other names.
  virtual StatusOr<Camera> SceneCamera(const std::string& name) const = 0;
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  static StatusOr<std::unique_ptr<Predictor>> Load(const std::string& checkpoint_dir,
                                                   const PredictorOptions& options);

  virtual const ModelMetadata& metadata() const = 0;
  /// "cpu" or "cuda:0 NAME".
  virtual const std::string& device_name() const = 0;
  virtual bool is_device_fallback() const = 0;
  /// Whether the steps of rollouts will (Rollout::asks_network); `history` is kNone of a scene
  /// without a robot.
  virtual bool AsksNetwork(ActionKind /*history*/, MotionSource motion) const {
    return motion == MotionSource::kModel;
  }

  /// Memory of the device, the CPU's being the host's. Its peak is since ResetPeakMemory, before
  /// which nothing is told; absent too where the system does not tell.
  virtual std::optional<DeviceMemory> ReadMemory() const { return std::nullopt; }
  virtual void ResetPeakMemory() {}

  /// Checks cameras, sizes, history and actions; resamples images of another size.
  virtual StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) = 0;
  /// The same bytes, with the older images not encoded again: `before` is a scene of the same
  /// workspace, depth range and seed whose newest observation is the oldest of `input`.
  virtual StatusOr<std::shared_ptr<const Scene>> LiftNext(const SceneInput& input,
                                                          const Scene& /*before*/) {
    return Lift(input);
  }
  /// `actions`: row s-1 belongs to step s; kind and columns as in the history. With kRobotOnly the
  /// network is not asked: particles on the robot move with its links, all others stay. That takes
  /// joint positions and the robot's description, from the scene or the checkpoint.
  virtual StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                                   const ActionSequence& actions,
                                                   MotionSource motion = MotionSource::kModel) = 0;
};

}  // namespace interlacer
