#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <string>
#include <string_view>

#include "common/random.h"
#include "model/attention/library_attention.h"
#include "model/network/head.h"
#include "model/network/world_model.h"

namespace interlacer {
namespace {

constexpr double kTruncation = 2;  // standard deviations
constexpr double kHopDecay = 0.01;

bool EndsWith(std::string_view name, std::string_view suffix) { return name.ends_with(suffix); }

bool IsHead(std::string_view name) { return name.starts_with("head."); }

/// The value with which a head's last layer starts: a gate closed, a guess trusted by half.
double FirstValue(std::string_view name) { return name == "head.gate.bias" ? kClosedGate : 0; }

/// Random stream of a parameter by its name (FNV-1a), so that layers which two configurations share
/// start with equal weights.
std::uint32_t DrawOf(std::string_view parameter_name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : parameter_name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// Fills with a truncated normal of the given deviation; draws outside are repeated.
void FillTruncatedNormal(torch::Tensor parameter, double deviation, std::uint64_t seed,
                         std::uint32_t draw) {
  RandomSequence random(seed, RandomStream::kWeightInit, draw);
  const torch::Tensor values = at::empty(parameter.sizes(), at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    double value = random.Normal();
    while (std::abs(value) > kTruncation) value = random.Normal();
    out[i] = static_cast<float>(deviation * value);
  }
  parameter.copy_(values);
}

}  // namespace

bool HasWeightDecay(const std::string& parameter_name) {
  return EndsWith(parameter_name, ".weight") && !IsOfMechanism(parameter_name);
}

void InitializeWeights(WorldModel* model, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    torch::Tensor parameter = item.value();
    if (IsOfMechanism(item.key())) {
      // The values that it was made with, which are functions of the mechanism's options.
    } else if (EndsWith(item.key(), ".scale")) {
      parameter.fill_(1);
    } else if (EndsWith(item.key(), ".hop_coefficients")) {
      parameter.copy_(at::exp(-kHopDecay * at::arange(parameter.size(0), parameter.options())));
    } else if (EndsWith(item.key(), ".weight") && !IsHead(item.key())) {
      const double fan_in = static_cast<double>(parameter[0].numel());
      FillTruncatedNormal(parameter, 1 / std::sqrt(fan_in), seed, DrawOf(item.key()));
    } else {
      parameter.fill_(FirstValue(item.key()));
    }
  }
}

void ResetHeads(WorldModel* model) {
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    if (!IsHead(item.key()) || item.key().find("_norm.") != std::string::npos) continue;
    torch::Tensor parameter = item.value();
    parameter.fill_(FirstValue(item.key()));
  }
}

}  // namespace interlacer
