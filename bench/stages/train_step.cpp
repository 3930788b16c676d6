#include "bench/stages/train_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/host_platform.h"
#include "bench/model_problem.h"
#include "bench/tensors.h"

namespace interlacer::bench {
namespace {

/// Number of particles in the gate's own sequence, whose reference runs in float64 on the host.
constexpr std::int64_t kCheckedTrainParticles = 2048;

/// float32 gradients deviate from float64 by 1e-5 on most inputs and by thousandths on some, as do
/// those of the eager peer in float32 (a ReLU that rounds across zero would explain it). So ours
/// may deviate a few times as far as the peer's, up to what two float32 runs may differ by. The
/// loss must agree to a thousandth of that.
constexpr double kGradientBound = 1e-3;
constexpr double kTwinMargin = 10;
constexpr double kLossWeight = 1000;
/// Largest error bound, also that between two float32 runs, both of which may deviate: over this
/// many steps, since through each further one a neighbour that rounding chose differently counts
/// for more.
constexpr double kLargestGradientBound = 3e-2;
constexpr int kCheckedTrainSteps = 2;

constexpr double kDeviceGradientGoal = 3;
constexpr double kHostGradientGoal = 5;

/// Sizes of the gate's own sequence.
Options CheckedSizes(Options options) {
  options.n = std::min(options.n, kCheckedTrainParticles);
  options.rollout_steps = std::min(options.rollout_steps, kCheckedTrainSteps);
  return options;
}

std::string SizesText(const Options& options) {
  return std::to_string(options.tokens()) + " tokens, " + std::to_string(options.rollout_steps) +
         (options.rollout_steps == 1 ? " step" : " steps");
}

/// Checks the loss, and all gradients as one vector, against the eager peer in float64 on the host.
GateResult CheckGradients(const Options& asked, const ModelDevice& place) {
  const Options options = CheckedSizes(asked);
  const TrainProblem ours(options, place, LocalLayer::kGrfExact);
  std::vector<CloudTensors> clouds;
  const LossAndGradients got = OurGradients(ours.model.get(), ours.sequence, &clouds);
  const TrainProblem host(options, {}, LocalLayer::kGrfExact);
  const RendererConfig& config = host.model->config().renderer;
  const auto twin_in = [&](at::ScalarType type) {
    return EagerGradients(EagerModel(*host.model, type, type, true), config,
                          CastSequence(host.sequence, type),
                          MakeGiven(config, host.sequence, clouds, type), WalkForm::kMerged);
  };
  const LossAndGradients expected = twin_in(at::kDouble);
  const torch::Tensor all_expected = expected.Flat();
  const double twin_error = GradientError(twin_in(at::kFloat).Flat(), all_expected);
  GateResult gate;
  gate.error = std::max(GradientError(got.Flat(), all_expected),
                        kLossWeight * std::fabs(got.loss / expected.loss - 1));
  gate.error_kind = "rel_l2 of all gradients, direction and bias; 1000 x loss";
  gate.error_bound = GradientBound(twin_error);
  gate.reference = "float64 autograd of the eager twin, " + SizesText(options);
  return gate;
}

/// Checks our message passing, which has no eager peer, against itself on the host.
GateResult CheckRivalGradients(const Options& asked, const ModelDevice& place) {
  const Options options = CheckedSizes(asked);
  const TrainProblem rival(options, place, LocalLayer::kMessagePassing);
  const torch::Tensor got = OurGradients(rival.model.get(), rival.sequence).Flat();
  GateResult gate;
  const TrainProblem host(options, {}, LocalLayer::kMessagePassing);
  gate.error = GradientError(got, OurGradients(host.model.get(), host.sequence).Flat());
  gate.error_kind = "rel_l2 of all gradients, direction and bias";
  gate.error_bound = kLargestGradientBound;
  gate.reference = "the peer on the host, " + SizesText(options);
  return gate;
}

struct TrainTwin {
  explicit TrainTwin(const TrainProblem& problem)
      : model(*problem.model, at::kFloat, at::kFloat, true), given(problem.MakeGiven()) {}

  EagerModel model;
  Given given;
};

Case MakeTrainBase(const Options& options, const ModelDevice& place) {
  Case base;
  base.stage = "train_step";
  base.name = "train_step/" + place.infix + options.cloud + "/" + std::to_string(options.tokens()) +
              "/d" + std::to_string(options.d);
  base.ours = "grf_exact+linear_relu";
  base.cloud = options.cloud;
  base.n = options.n;
  base.tokens = options.tokens();
  base.d = options.d;
  base.params = {{"batch", 1},
                 {"steps", options.rollout_steps},
                 {"rays", kTrainRays},
                 {"encoder", "left out"},
                 {"optimizer", "left out"}};
  return base;
}

}  // namespace

double GradientBound(double twin_error) {
  return std::clamp(kTwinMargin * twin_error, kGradientBound, kLargestGradientBound);
}

TrainProblem::TrainProblem(const Options& options, const ModelDevice& place, LocalLayer local)
    : model(MakeModel(options, local, place)),
      sequence(CastSequence(MakeSequence(options, model->config()), place.device)) {}

Given TrainProblem::MakeGiven() const {
  std::vector<CloudTensors> clouds;
  OurGradients(model.get(), sequence, &clouds);
  return bench::MakeGiven(model->config().renderer, sequence, clouds,
                          sequence.target_rgb.options());
}

TrainStage MakeTrainStage(const Options& options, const ModelDevice& place) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: train_step computes in f32, got " + options.dtype);
  }
  const auto problem_of = [&](LocalLayer local) {
    return OnFirstUse<TrainProblem>(
        [options, place, local] { return std::make_unique<TrainProblem>(options, place, local); });
  };
  const auto gradients_of = [&](const std::function<TrainProblem&()>& problem) {
    return place.timed([problem] { OurGradients(problem().model.get(), problem().sequence); });
  };
  TrainStage stage{MakeTrainBase(options, place), problem_of(LocalLayer::kGrfExact), {}};
  const auto problem = stage.problem;
  stage.base.gate = Once([options, place] { return CheckGradients(options, place); });
  stage.base.run_ours = gradients_of(problem);

  const auto twin =
      OnFirstUse<TrainTwin>([problem] { return std::make_unique<TrainTwin>(problem()); });
  for (const auto& [form, peer] : {std::pair{WalkForm::kPrefixes, "torch_eager_prefixes"},
                                   std::pair{WalkForm::kMerged, "torch_eager_merged"}}) {
    Case item = Against(stage.base, peer);
    item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
    if (place.device.is_cuda()) {
      item.goal = kDeviceGradientGoal;
    } else if (form == WalkForm::kPrefixes) {
      item.goal = kHostGradientGoal;
    }
    item.run_peer = [twin, work = place.timed([twin, problem, form] {
      EagerGradients(twin().model, problem().model->config().renderer, problem().sequence,
                     twin().given, form);
    })] {
      twin();  // its inputs are prepared outside the measured time
      return work();
    };
    stage.cases.push_back(std::move(item));
  }
  Case passing = Against(stage.base, "our_message_passing");
  passing.goal = 1;
  if (place.records_steps()) {
    passing.gate = Once([ours = stage.base.gate, options, place] {
      const GateResult gate = ours();
      return gate.correct() ? CheckRivalGradients(options, place) : gate;
    });
  }
  passing.run_peer = gradients_of(problem_of(LocalLayer::kMessagePassing));
  stage.cases.push_back(std::move(passing));
  return stage;
}

std::vector<Case> MakeTrainStepCases(const Options& options) {
  return MakeTrainStage(options, ModelDevice{}).cases;
}

}  // namespace interlacer::bench
