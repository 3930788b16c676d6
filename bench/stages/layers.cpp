// Steps of models with a mechanism of the attention library as a layer, each beside the step of the
// served layers, on the CPU.

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/host_platform.h"
#include "bench/model_problem.h"
#include "bench/stages/step.h"
#include "bench/tensors.h"
#include "model/attention/library_attention.h"

namespace interlacer::bench {
namespace {

/// Number of particles in the gate's own step.
constexpr std::int64_t kGateParticles = 1024;
constexpr int kHeads = 4;

struct LayerCase {
  const char* name;
  LayerPlace place;
  MechanismConfig mechanism;
};

/// Mechanisms with the options that they have in experiments/layers.
const std::vector<LayerCase>& LayerCases() {
  static const std::vector<LayerCase> cases{
      {"symmetric_grf",
       LayerPlace::kLocal,
       {"grf_sym",
        R"({"walks": 16, "hops": 3, "halt_probability": 0.2, "independent_qk_walks": true})"}},
      {"rwgnk", LayerPlace::kLocal, {"rwgnk", R"({"hops": 2})"}},
      {"knn_attention", LayerPlace::kLocal, {"gat_mask", R"({"score": "softmax"})", 12, false}},
      {"flt_3d", LayerPlace::kGlobal, {"flt_gauss3d", R"({"width": 0.1})"}},
      {"favor", LayerPlace::kGlobal, {"favor_pos", R"({"features": 16})"}},
      {"heat_kernel", LayerPlace::kGlobal, {"heat", R"({"lambda": 2})"}},
  };
  return cases;
}

InterlacerConfig ConfigOf(const Options& options, const LayerCase& layer) {
  InterlacerConfig config = ModelConfig(options, LocalLayer::kGrfExact);
  if (layer.place == LayerPlace::kGlobal) {
    config.network.global.mechanism = layer.mechanism;
  } else {
    config.network.local.kind = LocalLayer::kMechanism;
    config.network.local.head_count = kHeads;
    config.network.local.mechanism = layer.mechanism;
  }
  const Status status = ValidateConfig(config);
  INTERLACER_CHECK(status.ok(), status.ToString());
  return config;
}

/// The served step against the layers one by one in float64.
GateResult Check(Options options, const InterlacerConfig& config) {
  const at::NoGradGuard no_grad;
  options.n = std::min(options.n, kGateParticles);
  StepProblem served(options, {}, config);
  const torch::Tensor got = ChangeOf(served.input, served.steps.Step(served.input));
  Options exact = options;
  exact.dtype = "f32";
  const auto model = MakeModel(exact, config);
  model->to(at::kDouble);
  const StepInput input = CastInput(served.input, at::kDouble);
  GateResult gate;
  gate.error = RelativeError(got, ChangeOf(input, model->Step(input)));
  gate.error_bound = StepErrorBound(options);
  gate.reference =
      "the layers one by one in float64, " + std::to_string(options.tokens()) + " tokens";
  return gate;
}

}  // namespace

std::vector<Case> MakeLayerCases(const Options& options) {
  const auto step_of = [options](const InterlacerConfig& config) {
    const auto problem = OnFirstUse<StepProblem>([options, config] {
      return std::make_unique<StepProblem>(options, ModelDevice{}, config);
    });
    return [problem] {
      StepProblem& ready = problem();
      return TimeMs([&ready] { ready.steps.Step(ready.input); });
    };
  };
  const auto peer = step_of(ModelConfig(options, LocalLayer::kGrfExact));
  std::vector<Case> cases;
  for (const LayerCase& layer : LayerCases()) {
    const InterlacerConfig config = ConfigOf(options, layer);
    Case item = DescribeStep(options, "layers", std::string(layer.name) + "/", config);
    item.params = {{"blocks", config.network.block_count},
                   {"options", layer.mechanism.options},
                   {"neighbors", layer.mechanism.neighbor_count}};
    item.gate = Once([options, config] { return Check(options, config); });
    item.run_ours = step_of(config);
    item = Against(item, "our_grf_exact");
    item.run_peer = peer;
    cases.push_back(std::move(item));
  }
  return cases;
}

}  // namespace interlacer::bench
