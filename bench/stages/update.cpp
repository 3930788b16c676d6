#include "bench/stages/update.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/clouds.h"
#include "bench/host_platform.h"
#include "bench/model_problem.h"
#include "bench/tensors.h"
#include "common/transforms.h"
#include "model/training/optimizer.h"
#include "model/training/sequence_loss.h"
#include "model/training/training_config.h"
#include "robots/robot.h"

namespace interlacer::bench {
namespace {

constexpr std::int64_t kCheckedUpdateParticles = 2048;
constexpr int kCheckedBatch = 2;
constexpr double kLearningRate = 1e-4;

/// Error bounds between two float32 runs, both of which deviate from float64 on some inputs; and
/// for rows that one of them rounds to bfloat16 in every layer.
constexpr double kUpdateFloatBound = 3e-2, kUpdateBfloat16Bound = 1e-1;

TrainingConfig PaperTraining() { return PresetRunConfig("paper").value().training; }

RgbImage RandomImage(const Options& options, std::uint32_t draw) {
  RgbImage image{options.image_width_px, options.image_height_px, {}};
  const std::size_t count = std::size_t{3} * options.image_width_px * options.image_height_px;
  for (const float value : RandomValues(count, options.seed, draw, 0, 256)) {
    image.pixels.push_back(static_cast<std::uint8_t>(std::min(value, 255.F)));
  }
  return image;
}

Camera CameraAt(const Options& options, const Vec3d& eye_m) {
  Camera camera;
  camera.width_px = options.image_width_px;
  camera.height_px = options.image_height_px;
  camera.fx_px = camera.fy_px = options.image_width_px;
  camera.cx_px = (options.image_width_px - 1) / 2.0;
  camera.cy_px = (options.image_height_px - 1) / 2.0;
  camera.world_from_camera = LookAt(eye_m, {0, 0, 0});
  return camera;
}

/// One link with points like those of a step.
std::shared_ptr<const Robot> MakeRobot(const Options& options) {
  Robot robot;
  robot.links.push_back({.name = "link"});
  const torch::Tensor points_m = RobotPoints(options, 1)[0].contiguous();
  const float* const p = points_m.const_data_ptr<float>();
  for (int point = 0; point < kRobotPoints; ++point) {
    robot.surface.positions_m.push_back({p[3 * point], p[3 * point + 1], p[3 * point + 2]});
    robot.surface.normals.push_back({0, 0, 1});
    robot.surface.links.push_back(0);
  }
  return std::make_shared<const Robot>(std::move(robot));
}

/// A scene of two times with a moving robot and noise as frames; `which` is its index in the batch.
TrainingSample MakeSample(Options options, const InterlacerConfig& config, int which) {
  options.seed += static_cast<std::uint64_t>(which);
  options.timesteps = 2;
  std::uint32_t draw = 200;
  const std::size_t pixels =
      static_cast<std::size_t>(options.image_width_px) * options.image_height_px;

  TrainingSample sample;
  sample.step_count = options.rollout_steps;
  const std::vector<float> positions_m = MakeCloud(options);
  auto position_m = positions_m.begin();
  for (LiftedTime* time : {&sample.older, &sample.newer}) {
    for (std::size_t camera = 0; camera < std::size(kEyesM); ++camera) {
      time->images.push_back(RandomImage(options, draw++));
    }
    time->positions_m.assign(position_m, position_m + 3 * options.n);
    position_m += 3 * options.n;
    const double all_pixels = static_cast<double>(std::size(kEyesM) * pixels);
    for (const float source : RandomValues(static_cast<std::size_t>(options.n), options.seed,
                                           draw++, 0, all_pixels - 1)) {
      time->source_index.push_back(static_cast<std::int64_t>(source));
    }
  }

  sample.robot = MakeRobot(options);
  for (int time = 0; time < options.rollout_steps + 2; ++time) {
    sample.robot_rows.link_poses.push_back({{{kRobotMoveM * time, 0, 0}, {0, 0, 0, 1}}});
  }
  sample.robot_rows.row_count = options.rollout_steps + 2;
  for (int step = 0; step <= options.rollout_steps; ++step) {
    std::vector<SupervisedView>& views = sample.target_steps.emplace_back();
    for (const Vec3d& eye_m : kEyesM) {
      const Camera camera = CameraAt(options, eye_m);
      const DepthImage depth{camera.width_px, camera.height_px, std::vector<float>(pixels, 1)};
      views.push_back({camera, RandomImage(options, draw++), depth,
                       std::vector<std::uint8_t>(pixels, 1), std::vector<std::uint8_t>(pixels, 0)});
    }
  }
  sample.workspace = config.data.workspace;
  return sample;
}

class UpdateProblem {
 public:
  UpdateProblem(const Options& options, const ModelDevice& place, LocalLayer local,
                bool recompute_blocks = PaperTraining().recompute_blocks)
      : training_(PaperTraining()),
        model_(MakeModel(options, local, place, recompute_blocks)),
        optimizer_(model_.get(), training_.weight_decay, training_.gradient_clip_norm),
        seed_(options.seed) {
    for (int i = 0; i < options.batch; ++i) {
      samples_.push_back(MakeSample(options, model_->config(), i));
    }
  }

  void Update() {
    Accumulate(0, samples_.size());
    optimizer_.Step(kLearningRate);
  }

  /// Gradients of the mean loss, as one vector on the host.
  torch::Tensor Gradients() { return GradientsOf(0, samples_.size()); }
  /// Gradients with a backward pass for each sequence.
  torch::Tensor GradientsOneByOne() {
    torch::Tensor sum = GradientsOf(0, 1);
    for (std::size_t i = 1; i < samples_.size(); ++i) sum += GradientsOf(i, 1);
    return sum / static_cast<double>(samples_.size());
  }

 private:
  torch::Tensor GradientsOf(std::size_t first, std::size_t count) {
    model_->zero_grad();
    Accumulate(first, count);
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& parameter : model_->parameters()) {
      const torch::Tensor& gradient = parameter.grad();
      all.push_back((gradient.defined() ? gradient : at::zeros_like(parameter))
                        .to(at::kCPU, at::kDouble)
                        .flatten());
    }
    model_->zero_grad();
    return at::cat(all, 0);
  }

  /// Accumulates gradients as one step of model/training/trainer.h does.
  void Accumulate(std::size_t first, std::size_t count) {
    SequenceLossOptions options;
    options.ray_count = training_.rays_per_step;
    options.seed = seed_;
    for (std::size_t i = first; i < first + count; ++i) {
      options.draw_index = static_cast<std::uint32_t>(i);
      const SequenceLoss loss = ComputeSequenceLoss(model_.get(), samples_[i], options);
      (loss.total / static_cast<double>(count)).backward();
    }
  }

  TrainingConfig training_;
  std::shared_ptr<WorldModel> model_;
  ModelOptimizer optimizer_;
  std::uint64_t seed_;
  std::vector<TrainingSample> samples_;
};

/// Checks a small batch against its single sequences, in float32 on the host, without gradient
/// checkpointing.
GateResult CheckUpdate(Options options, const ModelDevice& place, LocalLayer local) {
  options.n = std::min(options.n, kCheckedUpdateParticles);
  options.batch = std::min(options.batch, kCheckedBatch);
  // One predicted step: with frames of noise rounding errors grow from step to step.
  options.rollout_steps = 1;
  const torch::Tensor got = UpdateProblem(options, place, local).Gradients();
  GateResult gate;
  gate.error_bound = options.dtype == "bf16" ? kUpdateBfloat16Bound : kUpdateFloatBound;
  options.dtype = "f32";
  gate.error = GradientError(got, UpdateProblem(options, {}, local, false).GradientsOneByOne());
  gate.error_kind = "rel_l2 of all gradients, direction and bias";
  gate.reference = "float32 on the host, " + std::to_string(options.batch) + " sequences of " +
                   std::to_string(2 * options.n) + " particles";
  return gate;
}

Case MakeBase(const Options& options, const ModelDevice& place) {
  Case base;
  base.stage = "update";
  base.name = "update/" + place.infix + std::to_string(2 * options.n) + "/d" +
              std::to_string(options.d) + "/batch" + std::to_string(options.batch);
  base.ours = "grf_exact+linear_relu";
  base.dtype = options.dtype;
  base.cloud = options.cloud;
  base.n = options.n;
  base.tokens = 2 * options.n;
  base.d = options.d;
  base.params = {{"batch", options.batch},
                 {"steps", options.rollout_steps},
                 {"rays", PaperTraining().rays_per_step},
                 {"images", std::to_string(options.image_width_px) + "x" +
                                std::to_string(options.image_height_px)},
                 {"optimizer", "AdamW"}};
  return base;
}

}  // namespace

std::vector<Case> MakeUpdateStage(const Options& options, const ModelDevice& place) {
  const auto update_of = [&](LocalLayer local) {
    const auto problem = OnFirstUse<UpdateProblem>(
        [options, place, local] { return std::make_unique<UpdateProblem>(options, place, local); });
    return place.timed([problem] { problem().Update(); });
  };
  Case base = MakeBase(options, place);
  const auto ours =
      Once([options, place] { return CheckUpdate(options, place, LocalLayer::kGrfExact); });
  base.run_ours = update_of(LocalLayer::kGrfExact);
  std::vector<Case> cases;
  for (const auto& [peer, local] : {std::pair{"our_message_passing", LocalLayer::kMessagePassing},
                                    std::pair{"our_unmasked", LocalLayer::kUnmasked}}) {
    Case item = Against(base, peer);
    if (local == LocalLayer::kMessagePassing) item.goal = 1;
    item.gate = Once([ours, options, place, local = local] {
      const GateResult gate = ours();
      return gate.correct() ? CheckUpdate(options, place, local) : gate;
    });
    item.run_peer = update_of(local);
    cases.push_back(std::move(item));
  }
  return cases;
}

std::vector<Case> MakeUpdateCases(const Options& options) {
  return MakeUpdateStage(options, ModelDevice{});
}

}  // namespace interlacer::bench
