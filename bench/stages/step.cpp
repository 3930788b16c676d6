#include "bench/stages/step.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/host_platform.h"
#include "bench/model_problem.h"
#include "bench/peers/eager_model.h"
#include "bench/tensors.h"

namespace interlacer::bench {
namespace {

/// Number of particles in the gate's own step, whose reference runs in float64 on the host.
constexpr std::int64_t kCheckedParticles = 4096;
/// A shape is first seen, then recorded, then replayed.
constexpr int kCheckedSteps = 3;

/// Goal against eager peers on the device, as a ratio of medians.
constexpr double kDeviceEagerGoal = 5;
constexpr double kHostEagerGoal = 10;

/// Change that the step makes, computed as it is served.
torch::Tensor ServedChange(const Options& options, const ModelDevice& place, LocalLayer local) {
  StepProblem problem(options, place, ModelConfig(options, local));
  torch::Tensor change;
  for (int step = 0; step < kCheckedSteps; ++step) {
    change = ChangeOf(problem.input, problem.steps.Step(problem.input));
  }
  if (place.records_steps() && problem.steps.replay_count() == 0) {
    throw std::runtime_error("steps are not recorded as CUDA graphs");
  }
  return change;
}

GateResult CheckStep(Options options, const ModelDevice& place) {
  const at::NoGradGuard no_grad;
  options.n = std::min(options.n, kCheckedParticles);
  const torch::Tensor got = ServedChange(options, place, LocalLayer::kGrfExact);
  const auto host = MakeModel(options, LocalLayer::kGrfExact);
  const StepInput input = MakeStepInput(options, host->config());
  const StepInput input64 = CastInput(input, at::kDouble);
  const EagerModel twin(*host, at::kDouble, at::kDouble, false);
  const torch::Tensor expected =
      ChangeOf(input64, twin.Step(input64, WalksOfStep(input, at::kDouble), WalkForm::kMerged));
  GateResult gate;
  gate.error = RelativeError(got, expected);
  gate.error_bound = StepErrorBound(options);
  gate.reference = "float64 twin, " + std::to_string(options.tokens()) + " tokens";
  return gate;
}

/// Checks another local layer of ours, which has no eager peer, against itself on the host.
GateResult CheckRival(Options options, const ModelDevice& place, LocalLayer local) {
  const at::NoGradGuard no_grad;
  options.n = std::min(options.n, kCheckedParticles);
  const torch::Tensor got = ServedChange(options, place, local);
  GateResult gate;
  Options exact = options;
  exact.dtype = "f32";
  const auto host = MakeModel(exact, local);
  const StepInput input = MakeStepInput(exact, host->config());
  gate.error = RelativeError(got, ChangeOf(input, host->Step(input)));
  gate.error_bound = StepErrorBound(options);
  gate.reference =
      "the peer on the host in float32, " + std::to_string(options.tokens()) + " tokens";
  return gate;
}

/// The eager peer on the same device, with its inputs.
struct StepTwin {
  StepTwin(const StepProblem& problem, const Options& options)
      : model(*problem.model, at::kFloat, options.dtype == "bf16" ? at::kBFloat16 : at::kFloat,
              false),
        walks(WalksOfStep(problem.input, problem.input.newer.positions_m.options())) {}

  EagerModel model;
  WalkIndices walks;
};

Case MakeStepBase(const Options& options, const ModelDevice& place) {
  const InterlacerConfig config = ModelConfig(options, LocalLayer::kGrfExact);
  Case base = DescribeStep(options, "step", place.infix, config);
  base.params = {{"blocks", config.network.block_count},
                 {"heads", config.network.global.head_count},
                 {"kinematic_tokens", kKinematicTimes * kRobotPoints},
                 {"recorded", place.records_steps()}};
  return base;
}

}  // namespace

Case DescribeStep(const Options& options, const std::string& stage, const std::string& variant,
                  const InterlacerConfig& config) {
  Case item;
  item.stage = stage;
  item.name = stage + "/" + variant + options.cloud + "/" + std::to_string(options.tokens()) +
              "/d" + std::to_string(options.d) + "/" + options.dtype;
  item.ours = AttentionVariant(config);
  item.dtype = options.dtype;
  item.cloud = options.cloud;
  item.n = options.n;
  item.tokens = options.tokens();
  item.d = options.d;
  return item;
}

double StepErrorBound(const Options& options) { return options.dtype == "bf16" ? 1e-2 : 1e-4; }

StepProblem::StepProblem(const Options& options, const ModelDevice& place,
                         const InterlacerConfig& config)
    : model(MakeModel(options, config, place)),
      input(CastInput(MakeStepInput(options, model->config()), place.device)),
      steps(model) {}

torch::Tensor ChangeOf(const StepInput& input, const CloudTensors& result) {
  return at::cat(
      {(result.positions_m - input.newer.positions_m.to(result.positions_m.scalar_type())),
       (result.features - input.newer.features.to(result.features.scalar_type()))},
      1);
}

StepStage MakeStepStage(const Options& options, const ModelDevice& place) {
  const auto problem_of = [&](LocalLayer local) {
    return OnFirstUse<StepProblem>([options, place, local] {
      return std::make_unique<StepProblem>(options, place, ModelConfig(options, local));
    });
  };
  const auto steps_of = [&](const std::function<StepProblem&()>& problem) {
    return place.timed([problem] { problem().steps.Step(problem().input); });
  };
  StepStage stage{MakeStepBase(options, place), problem_of(LocalLayer::kGrfExact), {}};
  const auto problem = stage.problem;
  stage.base.gate = Once([options, place] { return CheckStep(options, place); });
  stage.base.run_ours = steps_of(problem);
  if (!place.records_steps()) {
    stage.base.floor =
        Floor{Floor::Kind::kDenseFlops, DenseFlops(ModelConfig(options, LocalLayer::kGrfExact),
                                                   static_cast<double>(options.tokens()))};
  }

  const auto twin = OnFirstUse<StepTwin>(
      [problem, options] { return std::make_unique<StepTwin>(problem(), options); });
  for (const auto& [form, peer] : {std::pair{WalkForm::kPrefixes, "torch_eager_prefixes"},
                                   std::pair{WalkForm::kMerged, "torch_eager_merged"}}) {
    Case item = Against(stage.base, peer);
    item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
    if (place.records_steps()) {
      item.goal = kDeviceEagerGoal;
    } else if (form == WalkForm::kPrefixes) {
      item.goal = kHostEagerGoal;
    }
    item.run_peer = [twin, work = place.timed([twin, problem, form] {
      const at::NoGradGuard no_grad;
      twin().model.Step(problem().input, twin().walks, form);
    })] {
      twin();  // its inputs are prepared outside the measured time
      return work();
    };
    stage.cases.push_back(std::move(item));
  }
  for (const auto& [local, peer] : {std::pair{LocalLayer::kMessagePassing, "our_message_passing"},
                                    std::pair{LocalLayer::kNone, "our_unmasked"}}) {
    Case item = Against(stage.base, peer);
    if (local == LocalLayer::kMessagePassing) item.goal = 1;
    if (place.records_steps()) {
      item.gate = Once([ours = stage.base.gate, options, place, rival = local] {
        const GateResult gate = ours();
        return gate.correct() ? CheckRival(options, place, rival) : gate;
      });
    }
    item.run_peer = steps_of(problem_of(local));
    stage.cases.push_back(std::move(item));
  }
  if (place.records_steps()) {
    Case item = Against(stage.base, "our_launches");
    item.run_peer = place.timed([problem] {
      const at::NoGradGuard no_grad;
      problem().steps.engine().Step(problem().input);
    });
    stage.cases.push_back(std::move(item));
  }
  return stage;
}

std::vector<Case> MakeStepCases(const Options& options) {
  return MakeStepStage(options, ModelDevice{}).cases;
}

}  // namespace interlacer::bench
