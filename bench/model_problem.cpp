#include "bench/model_problem.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "bench/clouds.h"
#include "bench/tensors.h"
#include "knn/knn_index.h"
#include "knn/walk_lists.h"
#include "model/graph/cloud_order.h"
#include "model/network/tokens.h"

namespace interlacer::bench {
namespace {

constexpr double kHeadWeight = 0.02;
constexpr double kRobotReachM = 0.4;
constexpr int kGripperPoints = 6;

}  // namespace

InterlacerConfig ModelConfig(const Options& options, LocalLayer local) {
  InterlacerConfig config = PresetConfig("paper").value();
  config.data.particle_count = options.n;
  config.data.min_particle_count = std::min<std::int64_t>(options.n, 1024);
  // All tokens in one graph; particles that the network moves, without gates or thresholds at which
  // a rounding would change a result.
  config.robot_motion = RobotMotion::kLearned;
  config.graph = GraphConfig();
  config.network.motion_gate = false;
  config.network.min_displacement_m = 0;
  config.network.width = options.d;
  config.network.local.key_width = options.d;
  config.network.local.kind = local;
  if (local == LocalLayer::kMessagePassing) {
    config = WithLocalLayer(std::move(config), LocalLayerName(local)).value();
  }
  const Status status = ValidateConfig(config);
  INTERLACER_CHECK(status.ok(), status.ToString());
  return config;
}

std::shared_ptr<WorldModel> MakeModel(const Options& options, LocalLayer local,
                                      const ModelDevice& place, bool recompute_blocks) {
  return MakeModel(options, ModelConfig(options, local), place, recompute_blocks);
}

std::shared_ptr<WorldModel> MakeModel(const Options& options, const InterlacerConfig& config,
                                      const ModelDevice& place, bool recompute_blocks) {
  const WorldModelOptions model_options{
      .dense_dtype = options.dtype == "bf16" ? DenseDtype::kBfloat16 : DenseDtype::kFloat32,
      .recompute_blocks = recompute_blocks,
      .device = place.device.is_cuda() ? DeviceKind::kCuda : DeviceKind::kCpu};
  auto model = std::make_shared<WorldModel>(config, model_options);
  InitializeWeights(model.get(), options.seed);
  const at::NoGradGuard no_grad;
  std::uint32_t draw = 100;
  for (const auto& item : model->named_parameters()) {
    if (!item.key().starts_with("head.") || !item.key().ends_with(".weight")) continue;
    item.value().copy_(kHeadWeight *
                       RandomTensor(item.value().sizes().vec(), options.seed, draw++));
  }
  model->MoveTo(place.device, place.cuda);
  return model;
}

torch::Tensor RobotPoints(const Options& options, std::int64_t times) {
  const torch::Tensor points_m =
      kRobotReachM * RandomTensor({1, kRobotPoints, 3}, options.seed, 20);
  return points_m + kRobotMoveM * at::arange(times, at::kFloat).view({-1, 1, 1});
}

namespace {

torch::Tensor MotionOf(const Options& options, std::uint32_t draw) {
  const torch::Tensor motion = RandomTensor({options.n, kRobotMotionWidth}, options.seed, draw);
  const torch::Tensor is_robot = motion.narrow(1, 0, 1).gt(0).to(at::kFloat);
  return at::cat({is_robot, kRobotMoveM * is_robot * motion.narrow(1, 1, 3)}, 1);
}

SurfaceInput MakeSurface(const Options& options) {
  const torch::Tensor normals = RandomTensor({kKinematicTimes, kRobotPoints, 3}, options.seed, 23);
  const torch::Tensor is_gripper = at::zeros({kRobotPoints});
  is_gripper.narrow(0, 0, kGripperPoints).fill_(1);
  return {normals / normals.norm(2, {2}, true), is_gripper, MotionOf(options, 24),
          MotionOf(options, 25)};
}

}  // namespace

StepInput MakeStepInput(const Options& options, const InterlacerConfig& config) {
  const torch::Tensor positions_m = at::tensor(MakeCloud(options), at::kFloat).view({2, -1, 3});
  const std::vector<std::int64_t> feature_shape{options.n, config.encoder.feature_width};
  return {{positions_m[0].contiguous(), RandomTensor(feature_shape, options.seed, 21)},
          {positions_m[1].contiguous(), RandomTensor(feature_shape, options.seed, 22)},
          RobotPoints(options, kKinematicTimes),
          config.data.workspace,
          options.seed,
          MakeSurface(options)};
}

StepInput CastInput(const StepInput& input, const at::TensorOptions& to) {
  return {{input.older.positions_m.to(to), input.older.features.to(to)},
          {input.newer.positions_m.to(to), input.newer.features.to(to)},
          input.kinematic_points_m.to(to),
          input.workspace,
          input.graph_seed,
          {input.surface.normals.to(to), input.surface.is_gripper.to(to),
           input.surface.older_motion.to(to), input.surface.newer_motion.to(to)}};
}

namespace {

/// The tokens of a step in the model's own order.
torch::Tensor TokenOrder(const StepInput& input) {
  const torch::Tensor older = SpatialOrder(input.older.positions_m).particle_at;
  const torch::Tensor newer = SpatialOrder(input.newer.positions_m).particle_at;
  const std::int64_t clouds = older.size(0) + newer.size(0);
  const std::int64_t robot = input.kinematic_points_m.numel() / 3;
  return at::cat({older, newer + older.size(0), at::arange(clouds, clouds + robot, at::kLong)}, 0);
}

}  // namespace

WalkIndices WalksOfStep(const StepInput& input, const at::TensorOptions& to) {
  const at::NoGradGuard no_grad;
  const StepInput host = CastInput(input, at::TensorOptions(at::kFloat).device(at::kCPU));
  const torch::Tensor positions_m = at::cat(
      {host.older.positions_m, host.newer.positions_m, host.kinematic_points_m.reshape({-1, 3})},
      0);
  // Ties of distance are broken by index, so only the model's own order gives the model's graph.
  const torch::Tensor order = TokenOrder(host);
  const torch::Tensor ordered_m = positions_m.index_select(0, order).contiguous();
  const std::span<const float> values(ordered_m.const_data_ptr<float>(),
                                      static_cast<std::size_t>(ordered_m.numel()));
  const KnnGraph ordered = MakeKnnIndex(KnnBackend::kGrid).value()->Graph(values, 3).value();
  KnnGraph graph = ordered;
  const std::int64_t* token_at = order.const_data_ptr<std::int64_t>();
  for (std::int64_t place = 0; place < graph.n; ++place) {
    for (int e = 0; e < graph.out_degree; ++e) {
      graph.neighbors[token_at[place] * graph.out_degree + e] =
          static_cast<std::int32_t>(token_at[ordered.neighbors[place * graph.out_degree + e]]);
    }
  }
  return MakeWalkIndices(graph, BuildWalkLists(graph).value(), to);
}

double DenseFlops(const InterlacerConfig& config, double tokens) {
  const double d = config.network.width;
  // A block has two attentions with query, key, value and out, and two feed-forward layers.
  const double a_token =
      config.network.block_count * (8 * d * d + 2 * 2.0 * config.network.ffn_factor * d * d);
  // The last block reads only the newer half of the tokens: no local query, out and feed-forward
  // for the others.
  const double unread = tokens / 2 * (2 * d * d + 2 * config.network.ffn_factor * d * d);
  return 2 * (tokens * a_token - unread);
}

}  // namespace interlacer::bench
