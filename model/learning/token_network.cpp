#include "model/learning/token_network.h"

#include <ATen/Functions.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/json.h"
#include "common/number_text.h"
#include "common/random.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/library_attention.h"
#include "model/network/world_model.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

using attention::Attention;
using attention::AttentionInputs;

constexpr double kPlaceDeviation = 0.02;
/// Apart, so that layers of one run draw different numbers.
constexpr std::uint64_t kSeedsOfARun = 1000;

/// `options` of the layer, with the run's seed where the mechanism has one and none is given.
StatusOr<Attention> MakeAttention(const AttentionLayerConfig& config, std::uint64_t seed) {
  INTERLACER_ASSIGN_OR_RETURN(const attention::MechanismInfo* const info,
                              attention::FindMechanism(config.mechanism));
  INTERLACER_ASSIGN_OR_RETURN(nlohmann::json options,
                              ParseJson(config.options, "options", reason::CONFIG_INVALID));
  const bool has_seed = std::any_of(info->options.begin(), info->options.end(),
                                    [](const auto& option) { return option.name == "seed"; });
  if (has_seed && options.is_object() && !options.contains("seed")) options["seed"] = seed;
  INTERLACER_ASSIGN_OR_RETURN(Attention made, Attention::Make(*info, options));
  // A class token would be one of the example's own.
  if (made.options().Has("class_tokens") && made.options().Int("class_tokens") != 0) {
    return Mismatch(reason::CONFIG_INVALID, "options.class_tokens", "0 in a layer",
                    std::to_string(made.options().Int("class_tokens")));
  }
  return made;
}

/// [B,L,heads width] -> [B,heads,L,width].
torch::Tensor AsHeads(const torch::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

/// Back again.
torch::Tensor Joined(const torch::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

/// The layer's errors at its place in the configuration.
[[noreturn]] void ThrowAt(const Status& status, const std::string& layer) {
  Status at = status;
  const std::string field = status.field().empty() ? layer : layer + "." + status.field();
  throw StatusException(std::move(at).WithField(field));
}

void FillUniform(torch::Tensor parameter, double bound, RandomSequence* random) {
  const torch::Tensor values = at::empty(parameter.sizes(), at::kFloat);
  auto* out = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    out[i] = static_cast<float>(random->Uniform(-bound, bound));
  }
  parameter.copy_(values);
}

/// Dense maps uniform with the bound of Xavier, norms 1, biases 0. Mechanisms have their values.
void InitializeNetwork(torch::nn::Module* network, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::uint32_t draw = 0;
  for (const auto& item : network->named_parameters()) {
    RandomSequence random(seed, RandomStream::kWeightInit, draw++);
    torch::Tensor parameter = item.value();
    const std::string& name = item.key();
    if (IsOfMechanism(name)) continue;
    if (name.ends_with(".weight")) {
      const auto sides = static_cast<double>(parameter.size(0) + parameter.size(1));
      FillUniform(parameter, std::sqrt(6 / sides), &random);
    } else if (name.ends_with("places")) {
      FillUniform(parameter, kPlaceDeviation * std::sqrt(3.0), &random);
    } else {
      parameter.fill_(name.ends_with(".scale") ? 1 : 0);
    }
  }
}

}  // namespace

DenseMap::DenseMap(std::int64_t in_width, std::int64_t out_width)
    : weight_(register_parameter("weight", at::full({out_width, in_width}, 0.1))) {}

torch::Tensor DenseMap::Forward(const torch::Tensor& x) const {
  return at::matmul(x, weight_.transpose(0, 1));
}

AttentionLayer::AttentionLayer(const AttentionLayerConfig& config, std::int64_t in_width,
                               std::uint64_t seed, const Batch& probe)
    : config_(config),
      attention_(ValueOrThrow(MakeAttention(config, seed))),
      way_(ValueOrThrow(attention::ParseWay(config.way))),
      learned_(register_module(kMechanismModule, std::make_shared<torch::nn::Module>())) {
  const bool keeps_width = config.maps == LayerMaps::kNone || config.residual;
  if (keeps_width && in_width != out_width()) {
    throw StatusException(
        Mismatch(reason::CONFIG_INVALID, "head_width",
                 "heads * head_width = " + std::to_string(in_width) +
                     ", the width of the input, as maps \"none\" and residual layers need",
                 std::to_string(config.head_count) + " * " + std::to_string(config.head_width)));
  }
  if (config.maps != LayerMaps::kNone) {
    value_ = register_module("value", std::make_shared<DenseMap>(in_width, out_width()));
  }
  if (config.maps == LayerMaps::kSeparate) {
    query_ = register_module("query", std::make_shared<DenseMap>(in_width, out_width()));
    key_ = register_module("key", std::make_shared<DenseMap>(in_width, out_width()));
  }
  if (config.residual) {
    norm_ = register_module("norm", std::make_shared<LayerNorm>(in_width));
    out_ =
        register_module("out", std::make_shared<Dense>(out_width(), in_width, Precision::kNative));
  }
  if (config.feed_forward_width > 0) {
    feed_forward_norm_ =
        register_module("feed_forward_norm", std::make_shared<LayerNorm>(in_width));
    feed_forward_ = register_module(
        "feed_forward", std::make_shared<FeedForward>(in_width, config.feed_forward_width, in_width,
                                                      Precision::kNative));
  }
  // The mechanism says what it learns on one example, and runs to find out whether it can.
  const torch::Tensor x = at::ones({1, probe.features.size(1), in_width});
  const AttentionInputs inputs =
      InputsOf(MapsOf(x), probe, probe.IsApart() ? std::optional<std::int64_t>(0) : std::nullopt);
  const auto initial = ValueOrThrow(attention_.InitialParameters(inputs));
  for (const std::string& name : config.fixed) {
    if (initial.contains(name)) continue;
    std::string names;
    for (const auto& entry : initial) names += (names.empty() ? "" : ", ") + entry.first;
    throw StatusException(Mismatch(reason::CONFIG_INVALID, "fixed",
                                   names.empty() ? "nothing, as the mechanism has no parameters"
                                                 : "parameters of the mechanism: " + names,
                                   name));
  }
  for (const auto& [name, tensor] : initial) {
    const auto& fixed = config.fixed;
    if (IsRandomDraw(name) || std::find(fixed.begin(), fixed.end(), name) != fixed.end()) continue;
    learned_->register_parameter(name, tensor.detach().clone());
  }
  Run(inputs);
}

torch::Tensor AttentionLayer::Run(const AttentionInputs& inputs) const {
  return ValueOrThrow(attention_.Run(inputs, way_));
}

AttentionLayer::Maps AttentionLayer::MapsOf(const torch::Tensor& x) const {
  if (config_.maps == LayerMaps::kNone) return {x, x, x};
  const torch::Tensor v = value_->Forward(x);
  if (config_.maps == LayerMaps::kShared) return {v, v, v};
  return {query_->Forward(x), key_->Forward(x), v};
}

AttentionInputs AttentionLayer::InputsOf(const Maps& maps, const Batch& batch,
                                         std::optional<std::int64_t> example) const {
  const auto part = [&](const torch::Tensor& x) {
    const torch::Tensor rows =
        example ? x.narrow(0, *example, 1)
                      .narrow(1, 0, batch.token_counts[static_cast<std::size_t>(*example)])
                : x;
    return AsHeads(rows.contiguous(), config_.head_count);
  };
  AttentionInputs inputs;
  inputs.q = part(maps.q);
  inputs.k = part(maps.k);
  inputs.v = part(maps.v);
  inputs.grid = batch.grid;
  inputs.step = batch.step;
  if (!example) inputs.key_mask = batch.key_mask.narrow(0, 0, inputs.q.size(0));
  if (example && !batch.graphs.empty()) {
    inputs.graph = batch.graphs[static_cast<std::size_t>(*example)];
  }
  if (example && !batch.positions.empty()) {
    inputs.positions = batch.positions[static_cast<std::size_t>(*example)];
  }
  AddParameters(&inputs);
  return inputs;
}

AttentionInputs AttentionLayer::PackedInputsOf(const Maps& maps, const Batch& batch) const {
  const auto packed = [&](const torch::Tensor& x) {
    return AsHeads(x.flatten(0, 1).index_select(0, batch.token_rows).unsqueeze(0),
                   config_.head_count);
  };
  AttentionInputs inputs;
  inputs.q = packed(maps.q);
  inputs.k = packed(maps.k);
  inputs.v = packed(maps.v);
  inputs.graph = batch.joined_graph;
  inputs.step = batch.step;
  AddParameters(&inputs);
  return inputs;
}

void AttentionLayer::AddParameters(AttentionInputs* inputs) const {
  for (const auto& item : learned_->named_parameters(/*recurse=*/false)) {
    inputs->parameters[item.key()] = item.value();
  }
}

torch::Tensor AttentionLayer::Attend(const torch::Tensor& x, const Batch& batch) const {
  const Maps maps = MapsOf(x);
  if (!batch.IsApart()) {
    return Joined(Run(InputsOf(maps, batch, std::nullopt)));
  }
  if (batch.positions.empty() && attention_.PacksGraphs(way_)) {
    const torch::Tensor out = Joined(Run(PackedInputsOf(maps, batch))).squeeze(0);
    return at::zeros({x.size(0) * x.size(1), out.size(1)}, out.options().requires_grad(false))
        .index_copy(0, batch.token_rows, out)
        .reshape({x.size(0), x.size(1), out.size(1)});
  }
  std::vector<torch::Tensor> rows;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const torch::Tensor out = Joined(Run(InputsOf(maps, batch, i)));
    rows.push_back(at::constant_pad_nd(out, {0, 0, 0, x.size(1) - out.size(1)}));
  }
  return at::cat(rows);
}

torch::Tensor AttentionLayer::Forward(const torch::Tensor& x, const Batch& batch) {
  if (!config_.residual) return Attend(x, batch);
  torch::Tensor y = x + out_->forward(Attend(norm_->forward(x), batch));
  if (feed_forward_) y = y + feed_forward_->forward(feed_forward_norm_->forward(y));
  return y * batch.key_mask.unsqueeze(2);
}

TokenNetwork::TokenNetwork(const TokenNetworkConfig& config, const ExampleForm& form,
                           std::uint64_t seed, const Batch& probe) {
  std::int64_t width = form.feature_width;
  if (config.embedding_width > 0) {
    embedding_ = register_module(
        "embedding", std::make_shared<Dense>(width, config.embedding_width, Precision::kNative));
    width = config.embedding_width;
  }
  if (config.learned_positions) {
    places_ = register_parameter("places", at::zeros({probe.features.size(1), width}));
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::string name = Indexed("layers", static_cast<int>(i));
    try {
      layers_.push_back(
          register_module("layer" + std::to_string(i),
                          std::make_shared<AttentionLayer>(config.layers[i], width,
                                                           seed * kSeedsOfARun + i, probe)));
    } catch (const StatusException& error) {
      ThrowAt(error.status(), name);
    }
    width = layers_.back()->out_width();
  }
  if (config.layers.back().residual) {
    norm_ = register_module("norm", std::make_shared<LayerNorm>(width));
  }
  head_ = register_module("head",
                          std::make_shared<Dense>(width, form.target_width, Precision::kNative));
  InitializeNetwork(this, seed);
}

torch::Tensor TokenNetwork::Forward(const Batch& batch) {
  const torch::Tensor mask = batch.key_mask.unsqueeze(2);
  torch::Tensor x = batch.features;
  if (embedding_) x = embedding_->forward(x);
  if (places_.defined()) {
    if (x.size(1) != places_.size(0)) {
      throw StatusException(Mismatch(reason::SHAPE_MISMATCH, "learned_positions",
                                     "examples of " + std::to_string(places_.size(0)) + " tokens",
                                     std::to_string(x.size(1)) + " tokens"));
    }
    x = x + places_;
  }
  if (embedding_ || places_.defined()) x = x * mask;
  for (const auto& layer : layers_) x = layer->Forward(x, batch);
  if (norm_) x = norm_->forward(x);
  return head_->forward((x * mask).sum(1) / mask.sum(1));
}

std::int64_t TokenNetwork::ParameterCount() const {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace interlacer
