#include "model/attention/files/mask_measurements.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include "common/process_memory.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/core/attention.h"
#include "model/attention/files/random_inputs.h"
#include "model/attention/masks/walk_features.h"
#include "model/runtime/torch_errors.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

torch::Tensor Numbers64(const std::vector<std::int64_t>& numbers) {
  return at::tensor(numbers, at::kLong);
}

/// Seconds of one run, and its peak of memory if `with_memory`.
StatusOr<Cost> RunOnce(const Attention& made, const AttentionInputs& inputs,
                       const std::optional<Way>& way, bool with_gradients, bool with_memory) {
  Cost cost;
  std::optional<ResidentMemory> before;
  if (with_memory) {
    ReleaseIdleMemory();
    if (ResetPeakMemory()) before = ReadResidentMemory();
  }
  const std::clock_t start = std::clock();
  Way used = Way::kDense;
  INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor out, made.Run(inputs, way, &used));
  if (with_gradients) {
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
        [&] {
          torch::autograd::grad({out.sum()}, {inputs.q, inputs.k, inputs.v}, {}, false, false,
                                true);
          return Status::Ok();
        },
        "gradients of attention"));
  }
  cost.cpu_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  cost.way = WayName(used);
  const auto after = before ? ReadResidentMemory() : std::nullopt;
  if (after) cost.peak_bytes = std::max<std::int64_t>(after->peak_bytes - before->now_bytes, 0);
  return cost;
}

AttentionInputs InputsOf(const MechanismInfo& mechanism, const CostRequest& request) {
  AttentionInputs inputs = LongInputs(mechanism,
                                      {.length = request.length,
                                       .batch = request.batch,
                                       .heads = request.heads,
                                       .width = request.width},
                                      1);
  if (request.graph) {
    inputs.graph = {Numbers64(request.graph->offsets), Numbers64(request.graph->neighbors), {}};
  }
  if (request.parents) inputs.tree = {Numbers64(*request.parents), {}};
  for (torch::Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v}) {
    if (request.with_gradients) tensor->requires_grad_();
  }
  return inputs;
}

AttentionInputs GraphInputsOf(const WalkSetting& setting) {
  AttentionInputs inputs;
  inputs.q = at::empty({1, 1, setting.graph.size(), 1}, at::kDouble);
  inputs.graph = {Numbers64(setting.graph.offsets), Numbers64(setting.graph.neighbors), {}};
  if (setting.edge_weight) {
    const auto count = static_cast<std::int64_t>(setting.graph.neighbors.size());
    inputs.graph.weights = at::full({count}, *setting.edge_weight, at::kDouble);
  }
  return inputs;
}

WalkTerms TermsOfDraw(const WalkSetting& setting, std::uint32_t draw) {
  WalkSamplerOptions options;
  options.sampler = SamplerNamed(setting.sampler);
  options.walk_count = setting.walks;
  options.max_hops = setting.max_hops;
  options.halt_probability = setting.halt_probability;
  options.seed = setting.seed;
  options.ensemble = draw;
  return SampledTerms(MaskGraphOf(GraphInputsOf(setting)), options);
}

std::vector<double> MaskOf(const WalkSetting& setting, const WalkTerms& terms, EstimateForm form) {
  const auto count = static_cast<std::int64_t>(setting.f.size());
  if (count != setting.max_hops + 1) {
    throw StatusException(Mismatch(reason::ARGUMENT_INVALID, "f",
                                   std::to_string(setting.max_hops + 1) + " numbers",
                                   std::to_string(count)));
  }
  const MaskPairs pairs = Combined(terms, at::tensor(setting.f, at::kDouble).unsqueeze(0));
  const torch::Tensor phi = ToDense(*pairs.pattern, pairs.values).squeeze(0);
  const torch::Tensor mask =
      (form == EstimateForm::kSymmetric ? at::matmul(phi, phi.t()) : phi).contiguous();
  const auto* first = mask.const_data_ptr<double>();
  return {first, first + mask.numel()};
}

}  // namespace

StatusOr<Cost> MeasureCost(const CostRequest& request) {
  INTERLACER_ASSIGN_OR_RETURN(const MechanismInfo* mechanism, FindMechanism(request.mechanism));
  INTERLACER_ASSIGN_OR_RETURN(const Attention made, Attention::Make(*mechanism, request.options));
  INTERLACER_ASSIGN_OR_RETURN(std::optional<Way> way, ParseWay(request.way));
  if (request.length < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "length", "1 or more",
                    std::to_string(request.length));
  }
  UseKernelThreadCount();
  AttentionInputs inputs;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        inputs = InputsOf(*mechanism, request);
        return Status::Ok();
      },
      "inputs of attention"));
  INTERLACER_ASSIGN_OR_RETURN(inputs.parameters, made.InitialParameters(inputs));
  INTERLACER_ASSIGN_OR_RETURN(Cost cost, RunOnce(made, inputs, way, request.with_gradients, true));
  // Where walks or powers are kept, the first run alone makes them: it is no measure of the others.
  const bool keeps = made.keeps_graph_memory();
  const bool is_long = cost.cpu_seconds > request.limit_s;
  if (keeps) cost.cpu_seconds = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < (is_long ? 1 : std::max(request.repeats, 1)); ++repeat) {
    INTERLACER_ASSIGN_OR_RETURN(const Cost again,
                                RunOnce(made, inputs, way, request.with_gradients, false));
    cost.cpu_seconds = std::min(cost.cpu_seconds, again.cpu_seconds);
  }
  if (is_long && !keeps) return cost;
  // The first run also loaded code and made what is kept.
  INTERLACER_ASSIGN_OR_RETURN(const Cost last,
                              RunOnce(made, inputs, way, request.with_gradients, true));
  if (last.peak_bytes && cost.peak_bytes) {
    cost.peak_bytes = std::min(*cost.peak_bytes, *last.peak_bytes);
  }
  return cost;
}

StatusOr<double> MeasureBlockedDense(std::int64_t length, std::int64_t width) {
  constexpr std::int64_t kRows = 512;
  constexpr int kRuns = 2;
  UseKernelThreadCount();
  double least_s = std::numeric_limits<double>::infinity();
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const c10::InferenceMode without_gradients;
        const torch::Tensor q = at::randn({length, width}) / std::sqrt(static_cast<double>(width));
        const torch::Tensor k = at::randn({length, width}), v = at::randn({length, width});
        torch::Tensor out = at::empty({length, width});
        for (int run = 0; run < kRuns; ++run) {
          const std::clock_t start = std::clock();
          for (std::int64_t first = 0; first < length; first += kRows) {
            const torch::Tensor rows = q.slice(0, first, std::min(length, first + kRows));
            out.slice(0, first, first + rows.size(0))
                .copy_(at::matmul(at::softmax(at::matmul(rows, k.t()), 1), v));
          }
          least_s = std::min(least_s, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        }
        return Status::Ok();
      },
      "attention in blocks"));
  return least_s;
}

StatusOr<double> MeasureMemoryAccess(MemoryAccess access, std::int64_t length) {
  constexpr std::int64_t kRowFloats = 16, kRowsOfAToken = 4;
  constexpr int kRuns = 10;
  UseKernelThreadCount();
  double least_s = std::numeric_limits<double>::infinity();
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const c10::InferenceMode without_gradients;
        const std::int64_t rows = kRowsOfAToken * length;
        const torch::Tensor all = at::ones({rows, kRowFloats}), some = all.slice(0, 0, length);
        const torch::Tensor places = at::randint(length, {rows}, at::kLong);
        torch::Tensor out = at::zeros({rows, kRowFloats});
        for (int run = 0; run < kRuns; ++run) {
          const std::clock_t start = std::clock();
          if (access == MemoryAccess::kStream) {
            out.copy_(all);
          } else {
            at::index_select_out(out, some, 0, places);
          }
          least_s = std::min(least_s, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        }
        return Status::Ok();
      },
      "memory access"));
  return least_s;
}

StatusOr<std::vector<double>> ExactMask(const WalkSetting& setting, EstimateForm form) {
  std::vector<double> mask;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const Graph graph = MaskGraphOf(GraphInputsOf(setting));
        mask = MaskOf(setting, EnumeratedTerms(graph, setting.max_hops), form);
        return Status::Ok();
      },
      "enumerated walks"));
  return mask;
}

StatusOr<std::vector<double>> EstimateMask(const WalkSetting& setting, EstimateForm form,
                                           std::uint32_t draw) {
  std::vector<double> mask;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        mask = MaskOf(setting, TermsOfDraw(setting, draw), form);
        return Status::Ok();
      },
      "random walks"));
  return mask;
}

StatusOr<std::vector<std::int64_t>> CountFeatureEntries(const WalkSetting& setting,
                                                        std::uint32_t draw) {
  std::vector<std::int64_t> counts;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const std::vector<std::int64_t> offsets = TermsOfDraw(setting, draw).pattern->offsets;
        for (std::size_t i = 1; i < offsets.size(); ++i) {
          counts.push_back(offsets[i] - offsets[i - 1]);
        }
        return Status::Ok();
      },
      "random walks"));
  return counts;
}

}  // namespace interlacer::attention
