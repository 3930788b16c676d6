#include "model/training/sequence_loss.h"

#include <optional>
#include <vector>

#include "common/random.h"
#include "model/lifting/lifting.h"
#include "model/lifting/robot_steps.h"
#include "model/runtime/torch_status.h"
#include "model/training/motion_regularization.h"
#include "model/training/ray_batch.h"
#include "render/rays.h"

namespace interlacer {
namespace {

CloudTensors Lift(WorldModel* model, const LiftedTime& time) {
  return LiftCloud(model, ColorsInUnit(ImageBytes(time.images, model->device())),
                   RowsOf3(time.positions_m, model->device()),
                   torch::tensor(time.source_index, torch::kInt64).to(model->device()));
}

std::uint64_t GraphSeed(const SequenceLossOptions& options, std::uint32_t step) {
  return RandomSequence(options.seed, RandomStream::kAnchors, options.draw_index, step).Next64();
}

torch::Tensor ViewLoss(WorldModel* model, const CloudTensors& cloud, const TrainingSample& sample,
                       std::size_t step, const SequenceLossOptions& options) {
  const RayDraw draw{options.ray_count, options.moving_ray_share, options.seed, options.draw_index,
                     static_cast<std::uint32_t>(step)};
  const TrainingRays rays = ValueOrThrow(DrawTrainingRays(sample.target_steps[step], draw));
  const RendererConfig renderer =
      RendererForRange(model->config().renderer, sample.near_m, sample.far_m);
  torch::Tensor jitter;
  if (options.jitter_depth) {
    const std::uint32_t jitter_draw =
        Philox(options.seed, 0, options.draw_index, static_cast<std::uint32_t>(step), 0).word[0];
    jitter = torch::tensor(
                 DrawDepthJitter(options.seed, jitter_draw, rays.count, renderer.samples_per_ray),
                 torch::kFloat32)
                 .reshape({rays.count, renderer.samples_per_ray})
                 .to(model->device());
  }
  const RenderedRays rendered =
      model->RenderRays(cloud, RowsOf3(rays.origins_m, model->device()),
                        RowsOf3(rays.directions, model->device()), jitter, renderer);
  return (rendered.rgb - RowsOf3(rays.target_rgb, model->device())).square().mean();
}

/// Adds noise to the positions, with one standard deviation for all particles of a sequence.
CloudTensors WithJitter(const CloudTensors& cloud, const SequenceLossOptions& options) {
  if (options.reconstruction_jitter_m <= 0) return cloud;
  RandomSequence random(options.seed, RandomStream::kPositionJitter, options.draw_index);
  const double deviation_m = random.Uniform(0, options.reconstruction_jitter_m);
  std::vector<float> noise_m(static_cast<std::size_t>(cloud.positions_m.numel()));
  for (float& value : noise_m) value = static_cast<float>(deviation_m * random.Normal());
  const torch::Tensor noise = torch::tensor(noise_m, torch::kFloat32).reshape({-1, 3});
  return {cloud.positions_m + noise.to(cloud.positions_m.device()), cloud.features};
}

/// Regularisation terms of a predicted step. How far the robot goes is not the network's.
torch::Tensor RegularizationOf(const CloudTensors& before, const CloudTensors& to,
                               const RobotSteps& robot, const Stretch* stretch,
                               const MotionRegularization& weights) {
  torch::Tensor sum = torch::zeros({}, to.positions_m.options());
  const CloudTensors from = robot.OthersOf(before), others = robot.OthersOf(to);
  if (weights.displacement > 0) sum = sum + weights.displacement * MeanDisplacement(from, others);
  if (weights.feature_change > 0) {
    sum = sum + weights.feature_change * MeanFeatureChange(from, others);
  }
  if (stretch != nullptr) sum = sum + weights.stretch * stretch->Mean(to.positions_m);
  return sum;
}

}  // namespace

SequenceLoss ComputeSequenceLoss(WorldModel* model, const TrainingSample& sample,
                                 const SequenceLossOptions& options) {
  const auto step_count = static_cast<std::int64_t>(sample.target_steps.size()) - 1;
  CloudTensors newer = Lift(model, sample.newer);
  CloudTensors older;  // used by dynamics steps only
  if (step_count > 0) older = Lift(model, sample.older);
  SequenceLoss loss;
  torch::Tensor sum = torch::zeros({}, newer.positions_m.options());
  double weight = 0;
  if (options.reconstruction_weight > 0) {
    const torch::Tensor view_loss = ViewLoss(model, WithJitter(newer, options), sample, 0, options);
    loss.reconstruction = view_loss.item<double>();
    sum = sum + options.reconstruction_weight * view_loss;
    weight += options.reconstruction_weight;
  }
  std::optional<Stretch> stretch;
  if (options.regularization.stretch > 0 && step_count > 0) stretch.emplace(newer.positions_m);
  const bool is_exact = model->config().robot_motion == RobotMotion::kKinematic;
  const bool stands_still = is_exact && sample.robot_rows.row_count == 0;
  std::optional<RobotSteps> robot;
  if (step_count > 0) {
    robot.emplace(model->config(), sample.robot.get(), sample.robot_rows, is_exact,
                  AttachedCloud{older, sample.older.links},
                  AttachedCloud{newer, sample.newer.links});
  }
  for (std::int64_t step = 0; step < step_count; ++step) {
    CloudTensors next = newer;
    if (!stands_still) {
      const std::uint64_t seed = GraphSeed(options, static_cast<std::uint32_t>(step));
      next = model->Step(robot->InputOf(step + 1, older, newer, sample.workspace, seed));
      next = robot->Place(step + 1, next, newer);
    }
    const torch::Tensor view_loss =
        ViewLoss(model, next, sample, static_cast<std::size_t>(step) + 1, options);
    loss.prediction += view_loss.item<double>() / static_cast<double>(step_count);
    sum = sum + view_loss +
          RegularizationOf(newer, next, *robot, stretch ? &*stretch : nullptr,
                           options.regularization);
    weight += 1;
    older = std::move(newer);
    newer = std::move(next);
  }
  loss.total = sum / weight;
  return loss;
}

}  // namespace interlacer
