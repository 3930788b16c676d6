#include "model/predictor.h"

#include <charconv>
#include <utility>

#include "model/device_limits.h"
#include "model/files/checkpoint.h"
#include "model/lifting/kinematic_rows.h"
#include "model/lifting/lifted_scene.h"
#include "model/predictor_on_device.h"
#include "model/rollout.h"
#include "model/runtime/memory_meter.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {
namespace {

constexpr char kTrainedStepCountKey[] = "trained_step_count";

int NumberOr(const TensorMetadata& metadata, const std::string& key, int fallback) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return fallback;
  int value = fallback;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

ModelMetadata DescribeModel(const Checkpoint& checkpoint, const std::string& model_name) {
  const InterlacerConfig& config = checkpoint.model->config();
  ModelMetadata metadata;
  metadata.model_name = model_name;
  metadata.weights_sha256 = checkpoint.weights_sha256;
  metadata.config_sha256 = checkpoint.config_sha256;
  metadata.attention_variant = AttentionVariant(config);
  metadata.parameter_count = checkpoint.model->parameter_count();
  metadata.particle_count = config.data.particle_count;
  metadata.min_particle_count = config.data.min_particle_count;
  metadata.step_duration_s = config.data.step_duration_s;
  metadata.cameras = config.data.cameras;
  metadata.near_m = config.renderer.near_m;
  metadata.far_m = config.renderer.far_m;
  metadata.workspace = config.data.workspace;
  metadata.world_frame_name = config.data.world_frame_name;
  metadata.trained_step_count = NumberOr(checkpoint.metadata, kTrainedStepCountKey, 0);
  if (checkpoint.robot) DescribeRobot(*checkpoint.robot, &metadata);
  return metadata;
}

/// Whether a scene's robot can move as asked.
Status CheckMotion(const LiftedScene& scene, const InterlacerConfig& config, MotionSource source) {
  if (scene.action_kind == ActionKind::kNone) return Status();
  if (source == MotionSource::kRobotOnly && scene.history.link_poses.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "output.motion",
                    "MODEL, or joint positions and a robot folder in the scene or the checkpoint",
                    "ROBOT_ONLY");
  }
  if (source == MotionSource::kRobotOnly) return Status();
  return CheckRobotTokens(config, *scene.robot);
}

class ModelPredictor : public Predictor {
 public:
  ModelPredictor(Checkpoint checkpoint, const PredictorOptions& options, DeviceChoice device)
      : model_(std::move(checkpoint.model)),
        step_graph_(std::make_shared<StepGraph>(model_)),
        robot_(checkpoint.robot),
        robot_motion_(options.robot_motion.value_or(model_->config().robot_motion)),
        device_(std::move(device)),
        memory_(device_.device) {
    checkpoint.model = model_;
    metadata_ = DescribeModel(checkpoint, options.model_name);
  }

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_.name; }
  bool is_device_fallback() const override { return device_.is_fallback; }
  bool AsksNetwork(ActionKind history, MotionSource motion) const override {
    return RolloutMotion{robot_motion_, motion}.asks_network(history);
  }

  std::optional<DeviceMemory> ReadMemory() const override {
    std::optional<DeviceMemory> memory;
    // Whoever does not tell is no reason to fail.
    (void)CatchTorchErrors([&] {
      memory = memory_.Read();
      return Status();
    });
    return memory;
  }
  void ResetPeakMemory() override {
    (void)CatchTorchErrors([&] {
      memory_.Reset();
      return Status();
    });
  }

  StatusOr<std::shared_ptr<const Scene>> Lift(const SceneInput& input) override {
    return LiftAfter(input, nullptr);
  }
  StatusOr<std::shared_ptr<const Scene>> LiftNext(const SceneInput& input,
                                                  const Scene& before) override {
    return LiftAfter(input, dynamic_cast<const LiftedScene*>(&before));
  }

  StatusOr<std::unique_ptr<Rollout>> Begin(std::shared_ptr<const Scene> scene,
                                           const ActionSequence& actions,
                                           MotionSource source) override {
    auto lifted = std::dynamic_pointer_cast<const LiftedScene>(scene);
    if (!lifted) {
      return FailedPrecondition(reason::SCENE_MODEL_MISMATCH, "the scene is not of this model")
          .WithField("scene");
    }
    if (lifted->action_kind != actions.kind && actions.row_count > 0) {
      return InvalidArgument(reason::ACTION_KIND, "actions differ in kind from history_actions")
          .WithField("actions.kind");
    }
    INTERLACER_RETURN_IF_ERROR(CheckMotion(*lifted, model_->config(), source));
    INTERLACER_ASSIGN_OR_RETURN(const KinematicRows rows,
                                ToKinematicRows(actions, lifted->robot.get(), "actions"));
    std::unique_ptr<Rollout> rollout;
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([&] {
      rollout = std::make_unique<ModelRollout>(model_, step_graph_, lifted, rows,
                                               RolloutMotion{robot_motion_, source});
      return Status();
    }));
    return rollout;
  }

 private:
  StatusOr<std::shared_ptr<const Scene>> LiftAfter(const SceneInput& input,
                                                   const LiftedScene* before) {
    std::shared_ptr<const Scene> scene;
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
      INTERLACER_ASSIGN_OR_RETURN(scene, LiftScene(input, metadata_, robot_, model_.get(), before));
      return Status();
    }));
    return scene;
  }

  std::shared_ptr<WorldModel> model_;
  std::shared_ptr<StepGraph> step_graph_;
  std::shared_ptr<const Robot> robot_;  ///< null without a robot folder
  RobotMotion robot_motion_;
  ModelMetadata metadata_;
  DeviceChoice device_;
  MemoryMeter memory_;
};

}  // namespace

StatusOr<std::unique_ptr<Predictor>> LoadPredictorOn(DeviceChoice device,
                                                     const std::string& checkpoint_dir,
                                                     const PredictorOptions& options) {
  std::unique_ptr<Predictor> predictor;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
    INTERLACER_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                                LoadCheckpoint(checkpoint_dir, {.device = device.kind()}));
    InterlacerConfig config = checkpoint.model->config();
    config.robot_motion = options.robot_motion.value_or(config.robot_motion);
    const Status is_valid = ValidateConfig(config);
    if (!is_valid.ok()) return is_valid;
    const Status fits = CheckFitsDevice(config, device.kind());
    if (!fits.ok()) return fits;
    checkpoint.model->eval();
    checkpoint.model->MoveTo(device.device, device.cuda);
    predictor = std::make_unique<ModelPredictor>(std::move(checkpoint), options, std::move(device));
    return Status();
  }));
  return predictor;
}

StatusOr<std::unique_ptr<Predictor>> Predictor::Load(const std::string& checkpoint_dir,
                                                     const PredictorOptions& options) {
  UseKernelThreadCount();
  DeviceChoice device;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
    INTERLACER_ASSIGN_OR_RETURN(device, ChooseDevice(options.device, options.cuda));
    return Status();
  }));
  const bool may_be_cpu =
      options.device == DeviceRequest::kAuto && device.kind() == DeviceKind::kCuda;
  auto loaded = LoadPredictorOn(std::move(device), checkpoint_dir, options);
  if (loaded.ok() || !may_be_cpu || loaded.status().reason() != reason::FEATURE_NOT_BUILT) {
    return loaded;
  }
  return LoadPredictorOn(CpuInstead(loaded.status().message()), checkpoint_dir, options);
}

}  // namespace interlacer
