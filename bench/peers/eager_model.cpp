#include "bench/peers/eager_model.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <numbers>

#include "common/transforms.h"
#include "model/network/tokens.h"

namespace interlacer::bench {
namespace {

torch::Tensor OneHot(std::int64_t count, int which, int of, const at::TensorOptions& like) {
  return at::eye(of, like).narrow(0, which, 1).expand({count, of});
}

}  // namespace

EagerModel::EagerModel(const WorldModel& model, at::ScalarType type, at::ScalarType dense_type,
                       bool trainable)
    : config_(model.config()), dense_type_(dense_type) {
  for (const auto& item : model.named_parameters()) {
    if (item.key().starts_with("unet.")) continue;
    weights_[item.key()] = item.value().detach().to(type, false, true).requires_grad_(trainable);
  }
}

EagerField EagerModel::field() const {
  EagerField field;
  int next = 0;
  for (const char* layer : {"first", "second", "out"}) {
    for (const char* part : {".weight", ".bias"}) {
      field[next++] = weights_.at(std::string("radiance_field.") + layer + part);
    }
  }
  return field;
}

torch::Tensor EagerModel::Linear(const std::string& name, const torch::Tensor& x,
                                 bool dense) const {
  const torch::Tensor &weight = weights_.at(name + ".weight"), &bias = weights_.at(name + ".bias");
  if (!dense || dense_type_ == weight.scalar_type()) return at::linear(x, weight, bias);
  return at::linear(x.to(dense_type_), weight.to(dense_type_), bias.to(dense_type_));
}

torch::Tensor EagerModel::Norm(const std::string& name, const torch::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, weights_.at(name + ".scale"), weights_.at(name + ".bias"),
                        1e-5);
}

torch::Tensor EagerModel::FeedForward(const std::string& name, const torch::Tensor& x) const {
  return Linear(name + ".out", at::gelu(Linear(name + ".in", x, true)), true).to(x.scalar_type());
}

torch::Tensor EagerModel::Place(const torch::Tensor& positions_m, const Box& workspace) const {
  const Vec3d center_m = BoxCenter(workspace);
  // Filled on the device of the positions: a copy from the host would wait.
  const auto options = positions_m.options().requires_grad(false);
  const torch::Tensor center =
      at::stack({at::scalar_tensor(center_m[0], options), at::scalar_tensor(center_m[1], options),
                 at::scalar_tensor(center_m[2], options)});
  const torch::Tensor p = (positions_m - center) / LargestHalfExtent(workspace);
  std::vector<torch::Tensor> parts{p};
  for (int octave = 0; octave < config_.tokens.fourier_octaves; ++octave) {
    const torch::Tensor angle = p * std::ldexp(std::numbers::pi, octave);
    parts.push_back(angle.sin());
    parts.push_back(angle.cos());
  }
  return at::cat(parts, 1);
}

torch::Tensor EagerModel::VisualTokens(const StepInput& input) const {
  std::vector<torch::Tensor> rows;
  for (const int time : {0, 1}) {
    const CloudTensors& cloud = time == 0 ? input.older : input.newer;
    const auto options = cloud.positions_m.options().requires_grad(false);
    const torch::Tensor& motion =
        time == 0 ? input.surface.older_motion : input.surface.newer_motion;
    rows.push_back(
        at::cat({WithRobotMotion(cloud, motion, config_.tokens.displacement_scale).features,
                 Place(cloud.positions_m, input.workspace),
                 OneHot(cloud.positions_m.size(0), time, 2, options)},
                1));
  }
  return Linear("tokens.visual", at::cat(rows, 0), false);
}

torch::Tensor EagerModel::KinematicTokens(const StepInput& input) const {
  const torch::Tensor attributes = KinematicAttributes(input, config_.tokens.displacement_scale);
  std::vector<torch::Tensor> rows;
  for (int time = 0; time < kKinematicTimes; ++time) {
    const torch::Tensor points_m = input.kinematic_points_m[time];
    rows.push_back(at::cat({attributes[time], Place(points_m, input.workspace),
                            OneHot(points_m.size(0), time, kKinematicTimes, points_m.options())},
                           1));
  }
  return Linear("tokens.kinematic", at::cat(rows, 0), false);
}

torch::Tensor EagerModel::Block(const std::string& name, torch::Tensor h, const WalkIndices& walks,
                                WalkForm form) const {
  const AttentionEpsilons epsilons{config_.network.feature_epsilon,
                                   config_.network.normalizer_epsilon};
  const auto project = [&](const std::string& layer, const char* what, const torch::Tensor& x) {
    return Linear(name + layer + what, x, true).to(h.scalar_type());
  };
  torch::Tensor x = Norm(name + ".global_norm", h);
  h = h +
      project(".global", ".out",
              EagerLinearAttention(project(".global", ".query", x), project(".global", ".key", x),
                                   project(".global", ".value", x),
                                   config_.network.global.head_count, epsilons));
  h = h + FeedForward(name + ".global_ffn", Norm(name + ".global_ffn_norm", h));
  x = Norm(name + ".local_norm", h);
  const torch::Tensor q = project(".local", ".query", x), k = project(".local", ".key", x),
                      v = project(".local", ".value", x);
  const torch::Tensor& f = weights_.at(name + ".local.hop_coefficients");
  h = h + project(".local", ".out",
                  form == WalkForm::kPrefixes
                      ? EagerGrfAttention(q, k, v, walks.Prefixes(f), epsilons)
                      : EagerGrfAttention(q, k, v, walks.Pairs(f), epsilons));
  return h + FeedForward(name + ".local_ffn", Norm(name + ".local_ffn_norm", h));
}

CloudTensors EagerModel::Step(const StepInput& input, const WalkIndices& walks,
                              WalkForm form) const {
  torch::Tensor h = at::cat({VisualTokens(input), KinematicTokens(input)}, 0);
  for (int block = 0; block < config_.network.block_count; ++block) {
    h = Block("interlacer.block" + std::to_string(block), h, walks, form);
  }
  h = Norm("interlacer.last_norm", h)
          .narrow(0, input.older.positions_m.size(0), input.newer.positions_m.size(0));
  const torch::Tensor displacement_m =
      config_.network.max_displacement_m *
      at::tanh(Linear("head.position", Norm("head.position_norm", h), false));
  return {input.newer.positions_m + displacement_m,
          input.newer.features + Linear("head.feature", Norm("head.feature_norm", h), false)};
}

}  // namespace interlacer::bench
