#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <memory>

#include "bench/device/model/model_peers.h"
#include "bench/device/model/model_stages.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/model_problem.h"

namespace interlacer::bench {
namespace {

/// Error bound between float32 results that round at different places.
constexpr double kFloatBound = 1e-4;
constexpr double kBfloat16Bound = 3e-2;

/// Check for a network of another kind with other results: the same number of values, all finite.
PeerCheck SameSize(std::size_t size) {
  return {[size](const std::vector<double>& out) {
            bool fits = out.size() == size;
            for (const double value : out) fits = fits && std::isfinite(value);
            return fits ? 0.0 : 1.0;
          },
          0};
}

}  // namespace

void AddStepPeers(const Options& options, StepStage* stage) {
  if (!AnySelected(options, {"torch_eager", "torch_compile", "torch_eager_graph", "pyg"})) return;
  const auto problem = stage->problem;
  const PythonPeers peers("step_torch.py", options, [&](ChildPeer* child) {
    const StepInput& input = problem().input;
    const WorldModel& model = *problem().model;
    LoadModel(child, model, input.workspace);
    LoadSteps(child, model.config(), input, input.kinematic_points_m,
              {WalksOfStep(input, input.newer.positions_m.options())});
    LoadTensor(child, "bf16", at::tensor({options.dtype == "bf16" ? 1 : 0}, at::kInt));
  });
  const auto expected = OnFirstUse<std::vector<double>>([problem] {
    const at::NoGradGuard no_grad;
    return std::make_unique<std::vector<double>>(
        ToDoubles(ChangeOf(problem().input, problem().steps.Step(problem().input))));
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); },
      options.dtype == "bf16" ? kBfloat16Bound : kFloatBound};
  const InterlacerConfig config = ModelConfig(options, LocalLayer::kGrfExact);
  const auto changes = static_cast<std::size_t>(options.n * (3 + config.encoder.feature_width));
  stage->cases.push_back(peers.Against(stage->base, "torch_eager", check));
  stage->cases.push_back(peers.Against(stage->base, "torch_compile", check));
  stage->cases.push_back(peers.Against(stage->base, "torch_eager_graph", check, 1.5));
  stage->cases.push_back(peers.Against(stage->base, "pyg", SameSize(changes), 2));
}

}  // namespace interlacer::bench
