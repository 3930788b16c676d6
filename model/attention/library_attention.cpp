#include "model/attention/library_attention.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "model/attention/catalog/catalog.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

using attention::Attention;
using attention::AttentionInputs;

constexpr std::string_view kDraws[] = {"omega", "mask_omega",   "xi",        "probe",
                                       "noise", "shared_noise", "projection"};
constexpr std::int64_t kProbeTokens = 4;

const MechanismConfig& MechanismAt(const NetworkConfig& config, LayerPlace place) {
  return place == LayerPlace::kGlobal ? *config.global.mechanism : *config.local.mechanism;
}

std::int64_t HeadsAt(const NetworkConfig& config, LayerPlace place) {
  return place == LayerPlace::kGlobal ? config.global.head_count : config.local.head_count;
}

std::int64_t KeyWidthAt(const NetworkConfig& config, LayerPlace place) {
  return place == LayerPlace::kGlobal ? config.width : config.local.key_width;
}

StatusOr<Attention> MakeAttention(const MechanismConfig& mechanism) {
  INTERLACER_ASSIGN_OR_RETURN(const attention::MechanismInfo* const info,
                              attention::FindMechanism(mechanism.name));
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json options,
                              ParseJson(mechanism.options, "options", reason::CONFIG_INVALID));
  return Attention::Make(*info, options);
}

/// A ring of so many tokens on a line, 1 cm apart.
AttentionInputs Probe(const NetworkConfig& config, LayerPlace place, std::int64_t tokens) {
  const std::int64_t heads = HeadsAt(config, place);
  AttentionInputs inputs;
  inputs.q = at::full({1, heads, tokens, KeyWidthAt(config, place) / heads}, 0.1f);
  inputs.k = inputs.q;
  inputs.v = at::ones({1, heads, tokens, config.width / heads});
  inputs.positions = 0.01 * at::arange(3 * tokens, at::kFloat).reshape({tokens, 3});
  const torch::Tensor at = at::arange(tokens), next = (at + 1).remainder(tokens);
  const bool both_ways = MechanismAt(config, place).symmetrise;
  inputs.graph.offsets = at::arange(tokens + 1) * (both_ways ? 2 : 1);
  inputs.graph.neighbors =
      both_ways ? at::stack({next, (at + (tokens - 1)).remainder(tokens)}, 1).flatten() : next;
  return inputs;
}

/// Says at which key of the configuration an error of the library stands.
Status AtKey(const Status& status, const std::string& key) {
  const bool is_option = status.field().starts_with("options");
  const std::string field = is_option                             ? key + "." + status.field()
                            : status.field().starts_with("graph") ? key + ".symmetrise"
                                                                  : key;
  Status at = InvalidArgument(reason::CONFIG_INVALID, is_option ? key + "." + status.message()
                                                                : field + ": " + status.message());
  for (const auto& [name, value] : status.metadata()) std::move(at).WithMetadata(name, value);
  return std::move(at).WithField(field);
}

Status CheckAt(const NetworkConfig& config, LayerPlace place, const std::string& key) {
  const std::string& name = MechanismAt(config, place).name;
  const auto made = MakeAttention(MechanismAt(config, place));
  if (!made.ok()) return AtKey(made.status(), key);
  const auto refuse = [&](const std::string& expected) {
    return Mismatch(reason::CONFIG_INVALID, key, expected, name);
  };
  for (const std::string& input : made->mechanism().inputs) {
    if (input != "graph" && input != "positions") {
      return refuse("a mechanism that reads no more than a graph and positions, not " + input);
    }
  }
  // Class tokens would be among the cloud's, and the layer knows no step of training.
  for (const char* option : {"class_tokens", "redraw_every"}) {
    const attention::Options& options = made->options();
    if (!options.Has(option) || options.Int(option) == 0) continue;
    return Mismatch(reason::CONFIG_INVALID, key + ".options." + option, "0 in a layer",
                    std::to_string(options.Int(option)));
  }
  const auto ways = made->Ways();
  if (ways == std::vector{attention::Way::kDense}) {
    return refuse("a mechanism with a way that makes no array of all pairs, with these options");
  }
  const auto first = made->InitialParameters(Probe(config, place, kProbeTokens));
  const auto second = made->InitialParameters(Probe(config, place, kProbeTokens + 1));
  for (const auto* parameters : {&first, &second}) {
    if (!parameters->ok()) return AtKey(parameters->status(), key);
  }
  for (const auto& [parameter, tensor] : *first) {
    if (second->at(parameter).sizes() == tensor.sizes()) continue;
    return refuse("a mechanism whose parameters do not depend on the number of tokens, as " +
                  parameter + " does");
  }
  const auto out = made->Run(Probe(config, place, kProbeTokens));
  return out.ok() ? Status() : AtKey(out.status(), key);
}

}  // namespace

LibraryAttention::LibraryAttention(const NetworkConfig& config, LayerPlace place,
                                   Precision precision)
    : ProjectedAttention(config.width, KeyWidthAt(config, place), precision),
      place_(place),
      head_count_(HeadsAt(config, place)),
      attention_(ValueOrThrow(MakeAttention(MechanismAt(config, place)))),
      learned_(register_module(kMechanismModule, std::make_shared<torch::nn::Module>())) {
  const auto initial =
      ValueOrThrow(attention_.InitialParameters(Probe(config, place, kProbeTokens)));
  for (const auto& [name, tensor] : initial) {
    if (IsRandomDraw(name)) continue;
    learned_->register_parameter(name, tensor.detach().clone());
  }
}

AttentionInputs LibraryAttention::InputsOf(const torch::Tensor& q, const torch::Tensor& k,
                                           const torch::Tensor& v, const TokenGraph& graph) const {
  const auto as_heads = [&](const torch::Tensor& rows) {
    const auto type = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return rows.to(type)
        .view({rows.size(0), head_count_, rows.size(1) / head_count_})
        .transpose(0, 1)
        .unsqueeze(0);
  };
  AttentionInputs inputs;
  inputs.q = as_heads(q);
  inputs.k = as_heads(k);
  inputs.v = as_heads(v);
  inputs.positions = graph.positions_m.to(inputs.q.scalar_type());
  const auto& edges = place_ == LayerPlace::kGlobal ? graph.global_edges : graph.local_edges;
  if (edges) inputs.graph = {edges->offsets, edges->neighbors, edges->weights};
  return inputs;
}

attention::NamedTensors LibraryAttention::Learned() const {
  attention::NamedTensors parameters;
  for (const auto& item : learned_->named_parameters(/*recurse=*/false)) {
    parameters[item.key()] = item.value();
  }
  return parameters;
}

torch::Tensor LibraryAttention::Mix(const torch::Tensor& q, const torch::Tensor& k,
                                    const torch::Tensor& v, const TokenGraph& graph) const {
  AttentionInputs inputs = InputsOf(q, k, v, graph);
  inputs.parameters = Learned();
  // All pairs of a cloud's tokens would take the memory of the machine.
  const StatusOr<torch::Tensor> run =
      attention_.Run(inputs, std::nullopt, nullptr, /*dense_instead=*/false);
  // What the mechanism calls a bad input is the network's own number.
  if (run.status().reason() == reason::NOT_FINITE) {
    throw StatusException(
        DataLoss(reason::PREDICTION_NOT_FINITE, "in a layer, " + run.status().message()));
  }
  const torch::Tensor out = ValueOrThrow(run);
  return out.squeeze(0).transpose(0, 1).reshape({v.size(0), v.size(1)});
}

bool IsRandomDraw(std::string_view name) {
  return std::find(std::begin(kDraws), std::end(kDraws), name) != std::end(kDraws);
}

bool IsOfMechanism(std::string_view parameter_name) {
  return parameter_name.find("." + std::string(kMechanismModule) + ".") != std::string_view::npos;
}

Status CheckMechanisms(const NetworkConfig& config) {
  if (config.global.mechanism) {
    INTERLACER_RETURN_IF_ERROR(CheckAt(config, LayerPlace::kGlobal, "network.global.mechanism"));
  }
  if (!config.local.mechanism) return Status();
  return CheckAt(config, LayerPlace::kLocal, "network.local.mechanism");
}

}  // namespace interlacer
