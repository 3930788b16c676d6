#include "model/attention/files/attention_files.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "common/least_squares.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/mask_bounds.h"
#include "model/attention/core/attention.h"
#include "model/attention/files/random_inputs.h"
#include "model/files/tensor_file.h"
#include "model/runtime/torch_errors.h"

namespace interlacer::attention {
namespace {

/// Ways in float64: sums in another order, and transforms.
constexpr double kAgreementTolerance = 1e-9;

constexpr std::int64_t kMaxTimedLength = std::int64_t{1} << 20;

constexpr std::string_view kParameterPrefix = "parameters.";

std::vector<std::string> NamesOf(const std::vector<Way>& ways) {
  std::vector<std::string> names;
  for (const Way way : ways) names.emplace_back(WayName(way));
  return names;
}

nlohmann::ordered_json DenseLengthsOf(const MechanismInfo& mechanism) {
  if (!mechanism.dense_up_to) return nullptr;
  return {{"width_8", mechanism.dense_up_to->width_8},
          {"width_64", mechanism.dense_up_to->width_64}};
}

nlohmann::ordered_json SummaryOf(const MechanismInfo& mechanism) {
  const auto ways_by = [&mechanism](const nlohmann::json& options) {
    const auto made = Attention::Make(mechanism, options);
    return made.ok() ? NamesOf(made->Ways()) : std::vector<std::string>{};
  };
  const nlohmann::json fast_options = FastOptions(mechanism.name);
  return {{"name", mechanism.name},
          {"text", mechanism.text},
          {"cost", mechanism.cost},
          {"source", mechanism.source},
          {"inputs", mechanism.inputs},
          {"dense_up_to", DenseLengthsOf(mechanism)},
          {"ways", ways_by(nlohmann::json::object())},
          {"fast_options", fast_options},
          {"fast_ways", ways_by(fast_options)}};
}

const char* TypeName(OptionSpec::Type type) {
  switch (type) {
    case OptionSpec::Type::kFlag:
      return "flag";
    case OptionSpec::Type::kInteger:
      return "integer";
    case OptionSpec::Type::kIntegers:
      return "integers";
    case OptionSpec::Type::kNumber:
      return "number";
    case OptionSpec::Type::kWord:
      break;
  }
  return "word";
}

/// Where a tensor of the file belongs, or null.
torch::Tensor* PlaceOf(const std::string& name, AttentionInputs* inputs) {
  const std::pair<const char*, torch::Tensor*> places[] = {
      {"q", &inputs->q},
      {"k", &inputs->k},
      {"v", &inputs->v},
      {"key_mask", &inputs->key_mask},
      {"graph.offsets", &inputs->graph.offsets},
      {"graph.neighbors", &inputs->graph.neighbors},
      {"graph.weights", &inputs->graph.weights},
      {"positions", &inputs->positions},
      {"segments", &inputs->segments},
      {"tree.parents", &inputs->tree.parents},
      {"tree.weights", &inputs->tree.weights},
      {"mask", &inputs->mask},
      {"gates", &inputs->gates}};
  for (const auto& [known, place] : places) {
    if (name == known) return place;
  }
  return nullptr;
}

struct FileInputs {
  AttentionInputs inputs;
  torch::Tensor grad_out;
};

StatusOr<FileInputs> ReadInputs(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
  FileInputs read;
  for (auto& [name, tensor] : file.tensors) {
    if (torch::Tensor* place = PlaceOf(name, &read.inputs)) {
      *place = tensor;
    } else if (name == "grad_out") {
      read.grad_out = tensor;
    } else if (name == "grid") {
      if (tensor.scalar_type() != at::kLong || tensor.dim() != 1 || tensor.size(0) > 16) {
        return Mismatch(reason::SHAPE_MISMATCH, "grid", "int64 [D], D of at most 16",
                        DescribeTensor(tensor));
      }
      const auto* side = tensor.const_data_ptr<std::int64_t>();
      read.inputs.grid.assign(side, side + tensor.size(0));
    } else if (name == "step") {
      if (tensor.scalar_type() != at::kLong || tensor.numel() != 1) {
        return Mismatch(reason::SHAPE_MISMATCH, "step", "int64 [1]", DescribeTensor(tensor));
      }
      read.inputs.step = tensor.item<std::int64_t>();
    } else if (name.rfind(kParameterPrefix, 0) == 0) {
      read.inputs.parameters[name.substr(kParameterPrefix.size())] = tensor;
    } else {
      return Mismatch(reason::SCHEMA_INVALID, name,
                      "q, k, v, key_mask, graph.*, grid, positions, segments, tree.*, mask, gates, "
                      "step, grad_out or parameters.NAME",
                      "a tensor of another name");
    }
  }
  return read;
}

/// Inputs beside q, k, v and parameters that have gradients, of those that the mechanism reads.
std::vector<std::pair<std::string, torch::Tensor*>> DifferentiableInputs(
    const MechanismInfo& mechanism, AttentionInputs* inputs) {
  std::vector<std::pair<std::string, torch::Tensor*>> found;
  const auto add = [&](const char* input, const char* name, torch::Tensor* tensor) {
    const bool is_read = std::find(mechanism.inputs.begin(), mechanism.inputs.end(), input) !=
                         mechanism.inputs.end();
    if (is_read && tensor->defined() && tensor->is_floating_point())
      found.emplace_back(name, tensor);
  };
  add("graph", "graph.weights", &inputs->graph.weights);
  add("tree", "tree.weights", &inputs->tree.weights);
  add("positions", "positions", &inputs->positions);
  add("mask", "mask", &inputs->mask);
  add("gates", "gates", &inputs->gates);
  return found;
}

/// Gradients of sum(out * grad_out), into `tensors`.
Status AddGradients(const MechanismInfo& mechanism, AttentionInputs inputs,
                    const torch::Tensor& out, const torch::Tensor& grad_out,
                    interlacer::NamedTensors* tensors) {
  if (grad_out.sizes() != out.sizes() || grad_out.scalar_type() != out.scalar_type()) {
    return Mismatch(reason::SHAPE_MISMATCH, "grad_out", DescribeTensor(out),
                    DescribeTensor(grad_out));
  }
  std::vector<std::string> names{"grad.q", "grad.k", "grad.v"};
  std::vector<torch::Tensor> variables{inputs.q, inputs.k, inputs.v};
  for (const auto& [name, tensor] : inputs.parameters) {
    names.push_back("grad.parameters." + name);
    variables.push_back(tensor);
  }
  for (const auto& [name, tensor] : DifferentiableInputs(mechanism, &inputs)) {
    names.push_back("grad." + name);
    variables.push_back(*tensor);
  }
  return CatchTorchErrors(
      [&] {
        std::vector<torch::Tensor> gradients(variables.size());
        // Nothing of an empty output depends on anything.
        if (out.requires_grad()) {
          gradients = torch::autograd::grad({out}, variables, {grad_out}, false, false, true);
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
          (*tensors)[names[i]] =
              gradients[i].defined() ? gradients[i].contiguous() : at::zeros_like(variables[i]);
        }
        return Status::Ok();
      },
      "gradients of attention");
}

}  // namespace

nlohmann::ordered_json ListMechanisms() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MechanismInfo& mechanism : Catalog()) list.push_back(SummaryOf(mechanism));
  return list;
}

StatusOr<nlohmann::ordered_json> DescribeMechanism(const std::string& name) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism(name));
  nlohmann::ordered_json description = SummaryOf(*mechanism);
  description["options"] = nlohmann::ordered_json::array();
  for (const OptionSpec& spec : mechanism->options) {
    description["options"].push_back({{"name", spec.name},
                                      {"type", TypeName(spec.type)},
                                      {"default", spec.default_value},
                                      {"range", DescribeRange(spec)},
                                      {"text", spec.text}});
  }
  return description;
}

StatusOr<nlohmann::ordered_json> RunAttentionFile(const AttentionRun& run) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism(run.mechanism));
  INTERLACER_ASSIGN_OR_RETURN(const Attention made, Attention::Make(*mechanism, run.options));
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<Way> way, ParseWay(run.way));
  INTERLACER_ASSIGN_OR_RETURN(FileInputs read, ReadInputs(run.input_path));
  AttentionInputs& inputs = read.inputs;
  INTERLACER_ASSIGN_OR_RETURN(NamedTensors parameters, made.InitialParameters(inputs));
  // What the file has comes first; Run checks it.
  inputs.parameters.merge(parameters);
  nlohmann::ordered_json largest;
  if (run.with_largest_logit) {
    INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor logits, made.LargestPositionLogits(inputs));
    if (!logits.defined()) {
      return Mismatch(reason::ARGUMENT_INVALID, "largest_logit",
                      "a mechanism that adds a function of places to logits", mechanism->name);
    }
    for (std::int64_t h = 0; h < logits.size(0); ++h) largest.push_back(logits[h].item<double>());
  }
  const bool has_gradients = read.grad_out.defined();
  if (has_gradients) {
    for (torch::Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v}) tensor->requires_grad_();
    for (auto& entry : inputs.parameters) {
      if (entry.second.is_floating_point()) entry.second.requires_grad_();
    }
    for (const auto& [name, tensor] : DifferentiableInputs(*mechanism, &inputs)) {
      tensor->requires_grad_();
    }
  }
  const auto start = std::chrono::steady_clock::now();
  Way used = Way::kDense;
  INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor out, made.Run(inputs, way, &used));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TensorFile file;
  if (has_gradients) {
    INTERLACER_RETURN_IF_ERROR(AddGradients(*mechanism, inputs, out, read.grad_out, &file.tensors));
  }
  file.tensors["out"] = out.detach().contiguous();
  for (const auto& [name, tensor] : inputs.parameters) {
    file.tensors[std::string(kParameterPrefix) + name] = tensor.detach().contiguous();
  }
  if (run.with_mask) {
    INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor mask, made.DenseMask(inputs));
    if (!mask.defined()) {
      return Mismatch(reason::ARGUMENT_INVALID, "mask",
                      "a mechanism with a mask apart from its scores", mechanism->name);
    }
    file.tensors["mask"] = mask.detach().contiguous();
  }
  const std::string way_name(WayName(used));
  file.metadata = {{"mechanism", mechanism->name},
                   {"options", JsonText(nlohmann::ordered_json(made.options().values()), -1)},
                   {"way", way_name}};
  INTERLACER_RETURN_IF_ERROR(WriteTensorFile(run.output_path, file));
  nlohmann::ordered_json result{{"mechanism", mechanism->name},
                                {"options", made.options().values()},
                                {"way", way_name},
                                {"shape", out.sizes().vec()},
                                {"seconds", seconds},
                                {"output", run.output_path}};
  if (run.with_largest_logit) result["largest_position_logit"] = largest;
  return result;
}

StatusOr<nlohmann::ordered_json> BoundWalks(const WalkBound& bound) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism("grf_sym"));
  INTERLACER_ASSIGN_OR_RETURN(const Attention made, Attention::Make(*mechanism, bound.options));
  INTERLACER_ASSIGN_OR_RETURN(const FileInputs read, ReadInputs(bound.input_path));
  INTERLACER_ASSIGN_OR_RETURN(const MaskBounds bounds,
                              BoundsOf(made, read.inputs, bound.error, bound.probability));
  nlohmann::ordered_json result{{"options", made.options().values()},
                                {"largest_step_load", bounds.largest_step_load},
                                {"load_norm", bounds.load_norm},
                                {"walks", nullptr},
                                {"entries", bounds.entries}};
  if (bounds.walks) result["walks"] = *bounds.walks;
  return result;
}

StatusOr<nlohmann::ordered_json> TimeMechanism(const AttentionTiming& timing) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism(timing.mechanism));
  INTERLACER_ASSIGN_OR_RETURN(const Attention made, Attention::Make(*mechanism, timing.options));
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<Way> way, ParseWay(timing.way));
  std::set<std::int64_t> different;
  for (const std::int64_t length : timing.lengths) {
    if (length < 2 || length > kMaxTimedLength || (length & (length - 1)) != 0) {
      return Mismatch(reason::ARGUMENT_INVALID, "lengths", "powers of two in [2, 2^20]",
                      std::to_string(length));
    }
    different.insert(length);
  }
  if (different.size() < 2) {
    return Mismatch(reason::ARGUMENT_INVALID, "lengths", "two different lengths or more",
                    std::to_string(different.size()));
  }
  std::vector<double> seconds, log_lengths, log_seconds;
  std::vector<std::string> ways;
  for (const std::int64_t length : different) {
    AttentionInputs inputs;
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
        [&] {
          inputs = LongInputs(*mechanism, {.length = length}, 1);
          return Status::Ok();
        },
        "inputs of attention"));
    double least = std::numeric_limits<double>::infinity();
    Way used = Way::kDense;
    for (int repeat = 0; repeat < std::max(1, timing.repeats); ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      INTERLACER_RETURN_IF_ERROR(made.Run(inputs, way, &used).status());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    seconds.push_back(least);
    ways.emplace_back(WayName(used));
    log_lengths.push_back(std::log(static_cast<double>(length)));
    log_seconds.push_back(std::log(least));
  }
  return nlohmann::ordered_json{{"mechanism", mechanism->name},
                                {"options", made.options().values()},
                                {"ways", ways},
                                {"lengths", different},
                                {"seconds", seconds},
                                {"exponent", LeastSquaresSlope(log_lengths, log_seconds)}};
}

StatusOr<nlohmann::ordered_json> CheckMechanism(const AttentionCheck& check) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism(check.mechanism));
  return CheckMechanism(*mechanism, check);
}

StatusOr<nlohmann::ordered_json> CheckMechanism(const MechanismInfo& mechanism,
                                                const AttentionCheck& check) {
  INTERLACER_ASSIGN_OR_RETURN(const Attention made, Attention::Make(mechanism, check.options));
  std::map<std::string, double> errors;
  for (int trial = 0; trial < check.trials; ++trial) {
    const AttentionInputs inputs =
        RandomInputs(mechanism, check.seed + static_cast<std::uint64_t>(trial));
    INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor dense, made.Run(inputs, Way::kDense));
    for (const Way way : made.Ways()) {
      if (way == Way::kDense) continue;
      INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor out, made.Run(inputs, way));
      const double scale = std::max(dense.norm().item<double>(), 1e-300);
      const double distance = (out - dense).norm().item<double>() / scale;
      double& error = errors[std::string(WayName(way))];
      // A NaN is no agreement and stays.
      if (std::isnan(distance) || distance > error) error = distance;
    }
  }
  nlohmann::ordered_json agree;
  if (!errors.empty()) {
    agree = std::all_of(errors.begin(), errors.end(),
                        [](const auto& entry) { return entry.second <= kAgreementTolerance; });
  }
  return nlohmann::ordered_json{{"mechanism", mechanism.name},
                                {"options", made.options().values()},
                                {"trials", check.trials},
                                {"tolerance", kAgreementTolerance},
                                {"agree", agree},
                                {"ways", errors}};
}

}  // namespace interlacer::attention
