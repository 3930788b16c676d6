#include "model/training/sequence_loss.h"

#include <optional>
#include <vector>

#include "common/random.h"
#include "model/lifting/lifting.h"
#include "model/lifting/robot_steps.h"
#include "model/network/world_model.h"
#include "model/runtime/torch_status.h"
#include "model/training/motion_regularization.h"
#include "model/training/ray_batch.h"
#include "model/training/track_loss.h"
#include "render/rays.h"
#include "robots/contact_guess.h"

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

/// Smooth below this, so that the noise of depth sensors does not pull.
constexpr double kDepthHuberM = 0.01;

struct ViewLosses {
  torch::Tensor video;
  torch::Tensor depth_m;  ///< undefined without a weight
};

/// Colours behind the rays, as a change of the renderer's white.
torch::Tensor DrawBackgrounds(std::int64_t ray_count, std::size_t step,
                              const SequenceLossOptions& options) {
  RandomSequence random(options.seed, RandomStream::kBackgrounds, options.draw_index,
                        static_cast<std::uint32_t>(step));
  std::vector<float> colors(static_cast<std::size_t>(3 * ray_count));
  for (float& value : colors) value = random.Uniform();
  return torch::tensor(colors, torch::kFloat32).reshape({-1, 3});
}

/// Huber's loss of the rendered distance, over rays that meet something.
torch::Tensor DepthLoss(const torch::Tensor& distance_m, const torch::Tensor& target_m,
                        const torch::Tensor& is_hit) {
  const torch::Tensor error_m = at::where(is_hit, distance_m - target_m, at::zeros_like(target_m));
  const torch::Tensor loss_m =
      at::huber_loss(error_m, at::zeros_like(error_m), at::Reduction::Sum, kDepthHuberM) /
      kDepthHuberM;
  return loss_m / is_hit.sum().clamp_min(1);
}

/// Nothing where no pixel is supervised.
std::optional<ViewLosses> ViewLossesOf(WorldModel* model, const CloudTensors& cloud,
                                       const TrainingSample& sample, std::size_t step,
                                       const SequenceLossOptions& options) {
  const RayDraw draw{options.ray_count, options.moving_ray_share, options.seed, options.draw_index,
                     static_cast<std::uint32_t>(step)};
  const TrainingRays rays = ValueOrThrow(DrawTrainingRays(sample.target_steps[step], draw));
  if (rays.count == 0) return std::nullopt;
  const torch::Device device = model->device();
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
                 .to(device);
  }
  const RenderedRays rendered = model->RenderRays(
      cloud, RowsOf3(rays.origins_m, device), RowsOf3(rays.directions, device), jitter, renderer);
  const torch::Tensor target_m = torch::tensor(rays.target_distance_m, torch::kFloat32).to(device);
  const torch::Tensor is_hit = at::isfinite(target_m);
  torch::Tensor rgb = rendered.rgb, target_rgb = RowsOf3(rays.target_rgb, device);
  if (options.random_background) {
    const torch::Tensor background = DrawBackgrounds(rays.count, step, options).to(device);
    rgb = rgb + (1 - rendered.opacity).unsqueeze(1) * (background - 1);
    target_rgb = at::where(is_hit.unsqueeze(1), target_rgb, background);
  }
  ViewLosses losses;
  losses.video = (rgb - target_rgb).square().mean();
  if (options.depth_weight > 0) losses.depth_m = DepthLoss(rendered.distance_m, target_m, is_hit);
  return losses;
}

/// The terms of a rendered step; counts them in `loss`, the depth as one of `counted` steps.
torch::Tensor WeightedViewLoss(const ViewLosses& losses, double weight,
                               const SequenceLossOptions& options, std::int64_t counted,
                               SequenceLoss* loss) {
  torch::Tensor sum = weight * losses.video;
  if (!losses.depth_m.defined()) return sum;
  loss->depth_m += losses.depth_m.item<double>() / static_cast<double>(counted);
  return sum + options.depth_weight * losses.depth_m;
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
  const std::int64_t step_count = sample.step_count;
  CloudTensors newer = Lift(model, sample.newer);
  CloudTensors older;  // used by dynamics steps only
  if (step_count > 0) older = Lift(model, sample.older);
  SequenceLoss loss;
  torch::Tensor sum = torch::zeros({}, newer.positions_m.options());
  double weight = 0;
  const bool counts_start = options.reconstruction_weight > 0,
             shows_steps = options.video_weight > 0;
  const std::int64_t counted = (counts_start ? 1 : 0) + (shows_steps ? step_count : 0);
  if (counts_start || options.shows_start) {
    const auto losses = ViewLossesOf(model, WithJitter(newer, options), sample, 0, options);
    if (losses) loss.reconstruction = losses->video.item<double>();
    if (losses && counts_start) {
      sum = sum + WeightedViewLoss(*losses, options.reconstruction_weight, options, counted, &loss);
    }
    weight += options.reconstruction_weight;
  }
  const torch::Tensor start_m = newer.positions_m;
  std::optional<TrackLoss> tracks;
  if (options.track_weight > 0) {
    tracks.emplace(sample.tracks, sample.newer.positions_m, model->device(), model->cuda());
  }
  std::optional<Stretch> stretch;
  if (options.regularization.stretch > 0 && step_count > 0) {
    stretch.emplace(newer.positions_m, model->cuda());
  }
  const bool is_exact = model->config().robot_motion == RobotMotion::kKinematic;
  const bool stands_still = is_exact && sample.robot_rows.row_count == 0;
  std::optional<RobotSteps> robot;
  if (step_count > 0) {
    robot.emplace(sample.robot.get(), sample.robot_rows, is_exact,
                  AttachedCloud{older, sample.older.links},
                  AttachedCloud{newer, sample.newer.links});
  }
  std::optional<ContactGuess> contacts;
  ContactRule::Touched touched;
  if (model->config().network.contact_guess && step_count > 0 && !stands_still) {
    contacts = GuessOf(sample.robot, sample.seen, {sample.newer.positions_m, sample.newer.links});
    touched = contacts->rule().Untouched();
  }
  for (std::int64_t step = 0; step < step_count; ++step) {
    CloudTensors next = newer;
    if (!stands_still) {
      const std::uint64_t seed = GraphSeed(options, static_cast<std::uint32_t>(step));
      torch::Tensor guess_m;
      if (contacts) guess_m = robot->Guess(step + 1, newer, *contacts, &touched);
      next = model->Step(robot->InputOf(step + 1, older, newer, guess_m, sample.workspace, seed));
      next = robot->Place(step + 1, next, newer);
    }
    if (shows_steps) {
      const auto losses =
          ViewLossesOf(model, next, sample, static_cast<std::size_t>(step) + 1, options);
      if (losses) {
        loss.prediction += losses->video.item<double>() / static_cast<double>(step_count);
        sum = sum + WeightedViewLoss(*losses, options.video_weight, options, counted, &loss);
      }
    }
    sum = sum + RegularizationOf(newer, next, *robot, stretch ? &*stretch : nullptr,
                                 options.regularization);
    if (tracks && tracks->is_known()) {
      const torch::Tensor track_m = tracks->At(step + 1, next.positions_m);
      loss.track_m += track_m.item<double>() / static_cast<double>(step_count);
      loss.still_track_m +=
          tracks->At(step + 1, start_m).item<double>() / static_cast<double>(step_count);
      sum = sum + options.track_weight * track_m;
    }
    weight += 1;
    older = std::move(newer);
    newer = std::move(next);
  }
  loss.total = sum / weight;
  return loss;
}

}  // namespace interlacer
