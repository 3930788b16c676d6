#include "model/attention/core/attention.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/json.h"
#include "model/runtime/torch_errors.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

std::string TypedShape(const torch::Tensor& tensor) {
  std::string text = std::string(c10::toString(tensor.scalar_type())) + " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(tensor.size(i));
  }
  return text + "]";
}

Status CheckParameter(const std::string& name, const torch::Tensor& tensor,
                      const torch::Tensor& initial) {
  const std::string field = "parameters." + name;
  if (!tensor.defined() || !tensor.is_cpu() || tensor.sizes() != initial.sizes() ||
      tensor.scalar_type() != initial.scalar_type()) {
    return Mismatch(reason::SHAPE_MISMATCH, field, TypedShape(initial),
                    tensor.defined() ? TypedShape(tensor) : "nothing");
  }
  if (at::isfinite(tensor).all().item<bool>()) return Status::Ok();
  return Mismatch(reason::NOT_FINITE, field, "finite numbers", "a number that is not");
}

/// Parameters are by head: without heads there are none.
NamedTensors InitialOf(const Mechanism& mechanism, const AttentionInputs& inputs) {
  return inputs.heads() == 0 ? NamedTensors{} : mechanism.InitialParameters(inputs);
}

/// Inputs are finite by now: what is not has overflowed.
Status CheckOutput(const torch::Tensor& out) {
  if (at::isfinite(out).all().item<bool>()) return Status::Ok();
  return Mismatch(reason::NOT_FINITE, "out",
                  "finite numbers: smaller q, k, v, weights, positions or parameters, or float64",
                  "numbers beyond the range of " + std::string(c10::toString(out.scalar_type())));
}

std::string WaysText(const std::vector<Way>& ways) {
  std::string text;
  for (const Way way : ways) text += (text.empty() ? "" : ", ") + std::string(WayName(way));
  return text;
}

}  // namespace

double DenseLengths::At(std::int64_t width) const {
  constexpr double kNarrow = 8, kWide = 64;
  const double between = std::log(static_cast<double>(width) / kNarrow) / std::log(kWide / kNarrow);
  const double low = static_cast<double>(width_8), high = static_cast<double>(width_64);
  if (between <= 0) return low;
  if (between >= 1) return high;
  return std::pow(std::max(low, 1.0), 1 - between) * std::pow(std::max(high, 1.0), between);
}

torch::Tensor Mechanism::RunChosen(const AttentionInputs& inputs, Way* used) const {
  const std::vector<Way> ways = Ways();
  *used = ways.size() > 1 ? ways[1] : ways[0];
  return Run(*used, inputs);
}

Attention::Attention(const MechanismInfo& info, Options options)
    : info_(&info), options_(std::move(options)), mechanism_(info.make(options_)) {
  for (const char* kept : {"keep_walks", "keep_powers"}) {
    if (options_.Has(kept) && options_.IsSet(kept)) memory_ = std::make_shared<GraphMemory>();
  }
}

StatusOr<Attention> Attention::Make(const MechanismInfo& mechanism, const nlohmann::json& options) {
  INTERLACER_ASSIGN_OR_RETURN(Options parsed, Options::Parse(mechanism.options, options));
  std::optional<Attention> made;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        WarmVectorMath();
        made = Attention(mechanism, std::move(parsed));
        return Status::Ok();
      },
      "attention"));
  return *std::move(made);
}

std::int64_t Attention::ClassTokens() const {
  return options_.Has("class_tokens") ? options_.Int("class_tokens") : 0;
}

StatusOr<NamedTensors> Attention::InitialParameters(const AttentionInputs& inputs) const {
  NamedTensors parameters;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckInputs(inputs, info_->inputs, ClassTokens()));
        parameters = InitialOf(*mechanism_, inputs);
        return Status::Ok();
      },
      "attention"));
  return parameters;
}

StatusOr<torch::Tensor> Attention::Parameter(const AttentionInputs& inputs,
                                             const std::string& name) const {
  torch::Tensor parameter;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckInputs(inputs, info_->inputs, ClassTokens()));
        parameter = ValueOrThrow(Completed(inputs)).parameters.at(name);
        return Status::Ok();
      },
      "attention"));
  return parameter;
}

StatusOr<AttentionInputs> Attention::Completed(const AttentionInputs& inputs) const {
  AttentionInputs completed = inputs;
  completed.memory = memory_;
  completed.parameters = InitialOf(*mechanism_, inputs);
  for (const auto& [name, tensor] : inputs.parameters) {
    const auto initial = completed.parameters.find(name);
    if (initial == completed.parameters.end()) {
      std::string names;
      for (const auto& entry : completed.parameters) {
        names += (names.empty() ? "" : ", ") + entry.first;
      }
      return Mismatch(reason::SCHEMA_INVALID, "parameters." + name,
                      names.empty() ? "no parameters" : "one of " + names, name);
    }
    INTERLACER_RETURN_IF_ERROR(CheckParameter(name, tensor, initial->second));
    initial->second = tensor;
  }
  return completed;
}

bool Attention::PacksGraphs(std::optional<Way> way) const {
  const auto chosen = [this](const char* option, const char* word) {
    return options_.Has(option) && options_.Is(option, word);
  };
  // Draws are by the number of a token, positive random features are scaled by the largest of all,
  // and a least entry of the mask joins everything.
  return info_->packs_graphs && (way != Way::kDense || mechanism_->IsDenseInBlocks()) &&
         !chosen("estimator", "sampled") && !chosen("score", "favor_pos") && ClassTokens() == 0 &&
         !(options_.Has("floor") && options_.Real("floor") > 0);
}

bool Attention::IsFasterDense(const AttentionInputs& inputs) const {
  if (!info_->dense_up_to || Ways().size() < 2) return false;
  const double up_to = info_->dense_up_to->At(std::min(inputs.width(), inputs.value_width()));
  if (up_to < 1) return false;
  const std::int64_t length = mechanism_->DenseLength(inputs);
  return static_cast<double>(length) <= up_to &&
         inputs.batch() * inputs.heads() * inputs.length() <= kMaxChosenDenseWeights / length;
}

StatusOr<torch::Tensor> Attention::Run(const AttentionInputs& inputs, std::optional<Way> way,
                                       Way* used, bool dense_instead) const {
  const std::vector<Way> ways = Ways();
  if (way && std::find(ways.begin(), ways.end(), *way) == ways.end()) {
    return Mismatch(reason::CONFIG_INVALID, "way",
                    "one of " + WaysText(ways) + " for " + info_->name + " with these options",
                    std::string(WayName(*way)));
  }
  torch::Tensor out;
  Way taken = way.value_or(Way::kDense);
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckInputs(inputs, info_->inputs, ClassTokens()));
        if (inputs.v.numel() == 0 || inputs.q.numel() == 0) {
          out = at::zeros_like(inputs.v);
          return Status::Ok();
        }
        const AttentionInputs completed = ValueOrThrow(Completed(inputs));
        const std::optional<Way> chosen = !way && IsFasterDense(inputs) ? Way::kDense : way;
        try {
          out = chosen ? mechanism_->Run(*chosen, completed)
                       : mechanism_->RunChosen(completed, &taken);
        } catch (const StatusException& error) {
          const bool is_too_large = error.status().code() == StatusCode::kResourceExhausted;
          if (way || taken != Way::kPairs || !is_too_large || !dense_instead) throw;
          taken = Way::kDense;
          out = mechanism_->Run(taken, completed);
        }
        out = out * completed.KeyMask();
        return CheckOutput(out);
      },
      "attention"));
  if (used != nullptr) *used = taken;
  return out;
}

StatusOr<torch::Tensor> Attention::DenseMask(const AttentionInputs& inputs) const {
  torch::Tensor mask;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckInputs(inputs, info_->inputs, ClassTokens()));
        if (inputs.heads() == 0 || inputs.length() == 0) {
          mask = at::zeros({inputs.heads(), inputs.length(), inputs.length()}, inputs.q.options());
          return Status::Ok();
        }
        const AttentionInputs completed = ValueOrThrow(Completed(inputs));
        mask = mechanism_->DenseMask(completed);
        return Status::Ok();
      },
      "attention"));
  return mask;
}

StatusOr<torch::Tensor> Attention::LargestPositionLogits(const AttentionInputs& inputs) const {
  torch::Tensor largest;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckInputs(inputs, info_->inputs, ClassTokens()));
        largest = inputs.heads() == 0
                      ? at::zeros({0}, inputs.q.options())
                      : mechanism_->LargestPositionLogits(ValueOrThrow(Completed(inputs)));
        return Status::Ok();
      },
      "attention"));
  return largest;
}

}  // namespace interlacer::attention
