#include "bench/train_problem.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <utility>

#include "bench/model_problem.h"
#include "bench/tensors.h"

namespace interlacer::bench {
namespace {

using Weights = std::map<std::string, torch::Tensor>;
/// Renders a cloud's rays; differentiable.
using RenderFunction = std::function<torch::Tensor(const CloudTensors& cloud)>;
using StepFunction = std::function<CloudTensors(const StepInput& input)>;

LossAndGradients Differentiate(const Sequence& sequence, const Weights& weights,
                               const StepFunction& step, const RenderFunction& render) {
  const StepInput& first = sequence.first;
  CloudTensors older = first.older, newer = first.newer;
  torch::Tensor loss = at::zeros({}, sequence.target_rgb.options());
  for (std::int64_t s = 0; s < sequence.steps(); ++s) {
    CloudTensors next = step({older, newer, sequence.kinematic_points_m.narrow(0, s, 3),
                              first.workspace, 0, first.surface});
    loss = loss + (render(next) - sequence.target_rgb).square().mean() /
                      static_cast<double>(sequence.steps());
    older = std::exchange(newer, std::move(next));
  }
  std::vector<torch::Tensor> inputs{first.older.features, first.newer.features};
  for (const auto& [name, weight] : weights) inputs.push_back(weight);
  const auto gradients = torch::autograd::grad({loss}, inputs);
  LossAndGradients result{loss.item<double>(), {{"older", gradients[0]}, {"newer", gradients[1]}}};
  std::size_t next = 2;
  for (const auto& [name, weight] : weights) result.gradients[name] = gradients[next++];
  return result;
}

}  // namespace

Sequence MakeSequence(const Options& options, const InterlacerConfig& config) {
  Sequence sequence;
  sequence.first = MakeStepInput(options, config);
  sequence.kinematic_points_m = RobotPoints(options, options.rollout_steps + 2);
  sequence.origins_m =
      at::tensor({0.8, -0.2, 0.75}, at::kFloat).expand({kTrainRays, 3}).contiguous();
  const torch::Tensor targets_m =
      RandomTensor({kTrainRays, 3}, options.seed, 30) * at::tensor({0.4, 0.4, 0.1}, at::kFloat);
  const torch::Tensor towards_m = targets_m - sequence.origins_m;
  sequence.directions = towards_m / towards_m.norm(2, {1}, true);
  sequence.jitter =
      (RandomTensor({kTrainRays, config.renderer.samples_per_ray}, options.seed, 31) + 1) * 0.499;
  sequence.target_rgb = (RandomTensor({kTrainRays, 3}, options.seed, 32) + 1) / 2;
  return CastSequence(sequence, at::kFloat);
}

Sequence CastSequence(const Sequence& sequence, const at::TensorOptions& to) {
  Sequence cast = sequence;
  cast.first = CastInput(sequence.first, to);
  for (torch::Tensor* features : {&cast.first.older.features, &cast.first.newer.features}) {
    *features = features->detach().clone().requires_grad_();
  }
  for (torch::Tensor* tensor : {&cast.kinematic_points_m, &cast.origins_m, &cast.directions,
                                &cast.jitter, &cast.target_rgb}) {
    *tensor = tensor->to(to);
  }
  return cast;
}

torch::Tensor LossAndGradients::Flat() const {
  std::vector<torch::Tensor> all;
  for (const auto& [name, gradient] : gradients) {
    all.push_back(gradient.to(at::kCPU, at::kDouble).flatten());
  }
  return at::cat(all, 0);
}

LossAndGradients OurGradients(WorldModel* model, const Sequence& sequence,
                              std::vector<CloudTensors>* clouds) {
  Weights weights;
  for (const auto& item : model->named_parameters()) {
    if (!item.key().starts_with("unet.")) weights[item.key()] = item.value();
  }
  return Differentiate(
      sequence, weights, [&](const StepInput& input) { return model->Step(input); },
      [&](const CloudTensors& cloud) {
        if (clouds) clouds->push_back({cloud.positions_m.detach(), cloud.features.detach()});
        return model->RenderRays(cloud, sequence.origins_m, sequence.directions, sequence.jitter)
            .rgb;
      });
}

Given MakeGiven(const RendererConfig& config, const Sequence& sequence,
                const std::vector<CloudTensors>& clouds, const at::TensorOptions& to) {
  const at::NoGradGuard no_grad;
  const Sequence host = CastSequence(sequence, at::TensorOptions(at::kFloat).device(at::kCPU));
  const torch::Tensor distances_m = SampleDistances(config, kTrainRays, host.jitter);
  const torch::Tensor points_m =
      SamplePoints({host.origins_m.to(at::kDouble), host.directions.to(at::kDouble),
                    distances_m.to(at::kDouble)})
          .reshape({-1, 3})
          .to(to.device());
  Given given;
  given.rays = {sequence.origins_m.to(to), sequence.directions.to(to), distances_m.to(to)};
  CloudTensors older = sequence.first.older, newer = sequence.first.newer;
  for (std::int64_t s = 0; s < sequence.steps(); ++s) {
    given.walks.push_back(WalksOfStep({older, newer, sequence.kinematic_points_m.narrow(0, s, 3),
                                       sequence.first.workspace, 0, sequence.first.surface},
                                      to));
    older = std::exchange(newer, clouds[static_cast<std::size_t>(s)]);
    const torch::Tensor distances =
        at::cdist(points_m, newer.positions_m.to(to.device(), at::kDouble), 2, 2);
    given.neighbors.push_back(
        std::get<1>(at::topk(distances, config.neighbor_count, 1, false))
            .view({kTrainRays, config.samples_per_ray, config.neighbor_count}));
  }
  return given;
}

LossAndGradients EagerGradients(const EagerModel& twin, const RendererConfig& config,
                                const Sequence& sequence, const Given& given, WalkForm form) {
  std::size_t stepped = 0, rendered = 0;
  return Differentiate(
      sequence, twin.weights(),
      [&](const StepInput& input) { return twin.Step(input, given.walks[stepped++], form); },
      [&](const CloudTensors& cloud) {
        return EagerRender(config, cloud.positions_m, cloud.features, twin.field(), given.rays,
                           given.neighbors[rendered++]);
      });
}

}  // namespace interlacer::bench
