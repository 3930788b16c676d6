/// One dynamics step of the whole model, neighbour search included, against the same model in eager
/// LibTorch (its walks given to it) and against our own model with other local layers.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/host_platform.h"
#include "bench/model_problem.h"
#include "bench/peers/eager_model.h"
#include "bench/tensors.h"

namespace interlacer::bench {
namespace {

/// Particles of the gate's own step, whose reference runs in float64.
constexpr std::int64_t kCheckedParticles = 4096;

/// What the step changes, so that what it copies does not hide errors. [n, 3 + features]
torch::Tensor ChangeOf(const StepInput& input, const CloudTensors& result) {
  return at::cat(
      {(result.positions_m - input.newer.positions_m.to(result.positions_m.scalar_type())),
       (result.features - input.newer.features.to(result.features.scalar_type()))},
      1);
}

GateResult Check(Options options) {
  const at::NoGradGuard no_grad;
  options.n = std::min(options.n, kCheckedParticles);
  const auto model = MakeModel(options, LocalLayer::kGrfExact);
  const StepInput input = MakeStepInput(options, model->config());
  const torch::Tensor got = ChangeOf(input, model->Step(input));
  const StepInput input64 = CastInput(input, at::kDouble);
  const EagerModel twin(*model, at::kDouble, at::kDouble, false);
  const torch::Tensor expected =
      ChangeOf(input64, twin.Step(input64, WalksOfStep(input, at::kDouble), WalkForm::kMerged));
  GateResult gate;
  gate.error = RelativeError(got, expected);
  gate.error_bound = options.dtype == "bf16" ? 1e-2 : 1e-4;
  gate.reference = "float64 twin, " + std::to_string(options.tokens()) + " tokens";
  return gate;
}

Work StepWork(const std::shared_ptr<WorldModel>& model,
              const std::shared_ptr<const StepInput>& input) {
  return Timed([model, input] {
    const at::NoGradGuard no_grad;
    model->Step(*input);
  });
}

/// The walks are made on first use: they are large.
Work EagerWork(const std::shared_ptr<const EagerModel>& twin,
               const std::shared_ptr<const StepInput>& input, WalkForm form) {
  const auto walks = std::make_shared<std::optional<WalkIndices>>();
  return [twin, input, form, walks] {
    const at::NoGradGuard no_grad;
    if (!*walks) *walks = WalksOfStep(*input, at::kFloat);
    return TimeMs([&] { twin->Step(*input, **walks, form); });
  };
}

}  // namespace

std::vector<Case> MakeStepCases(const Options& options) {
  const auto model = MakeModel(options, LocalLayer::kGrfExact);
  const auto input = std::make_shared<const StepInput>(MakeStepInput(options, model->config()));
  const auto twin = std::make_shared<const EagerModel>(
      *model, at::kFloat, options.dtype == "bf16" ? at::kBFloat16 : at::kFloat, false);

  Case base;
  base.stage = "step";
  base.name = "step/" + options.cloud + "/" + std::to_string(options.tokens()) + "/d" +
              std::to_string(options.d) + "/" + options.dtype;
  base.ours = "grf_exact+linear_relu";
  base.dtype = options.dtype;
  base.cloud = options.cloud;
  base.n = options.n;
  base.tokens = options.tokens();
  base.d = options.d;
  base.params = {{"blocks", model->config().network.block_count},
                 {"heads", model->config().network.global.head_count},
                 {"kinematic_tokens", 3 * model->config().kinematics.point_count()}};
  base.floor = Floor{Floor::Kind::kDenseFlops,
                     DenseFlops(model->config(), static_cast<double>(options.tokens()))};
  base.gate = Once([options] { return Check(options); });
  base.run_ours = StepWork(model, input);

  std::vector<Case> cases;
  for (const auto& [form, peer] : {std::pair{WalkForm::kPrefixes, "torch_eager_prefixes"},
                                   std::pair{WalkForm::kMerged, "torch_eager_merged"}}) {
    Case item = Against(base, peer);
    item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
    if (form == WalkForm::kPrefixes) item.goal = 10;
    item.run_peer = EagerWork(twin, input, form);
    cases.push_back(std::move(item));
  }
  for (const auto& [local, peer] : {std::pair{LocalLayer::kMessagePassing, "our_message_passing"},
                                    std::pair{LocalLayer::kNone, "our_unmasked"}}) {
    Case item = Against(base, peer);
    if (local == LocalLayer::kMessagePassing) item.goal = 1;
    item.run_peer = StepWork(MakeModel(options, local), input);
    cases.push_back(std::move(item));
  }
  return cases;
}

}  // namespace interlacer::bench
