#include <ATen/Functions.h>

#include <memory>

#include "bench/device/model/model_peers.h"
#include "bench/device/model/model_stages.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"

namespace interlacer::bench {
namespace {

/// Error bound of all gradients: the largest difference of two float32 runs on unfavourable inputs.
constexpr double kBound = 3e-2;

}  // namespace

void AddTrainPeers(const Options& options, TrainStage* stage) {
  if (!AnySelected(options, {"torch_eager", "torch_compile"})) return;
  const auto problem = stage->problem;
  const PythonPeers peers("train_step_torch.py", options, [&](ChildPeer* child) {
    const Sequence& sequence = problem().sequence;
    const WorldModel& model = *problem().model;
    const RendererConfig& renderer = model.config().renderer;
    const Given given = problem().MakeGiven();
    LoadModel(child, model, sequence.first.workspace);
    LoadSteps(child, model.config(), sequence.first, sequence.kinematic_points_m, given.walks);
    for (std::size_t s = 0; s < given.neighbors.size(); ++s) {
      LoadTensor(child, "neighbors." + std::to_string(s), given.neighbors[s]);
    }
    LoadTensor(child, "origins", given.rays.origins_m);
    LoadTensor(child, "directions", given.rays.directions);
    LoadTensor(child, "distances", given.rays.distances_m);
    LoadTensor(child, "target", sequence.target_rgb);
    LoadTensor(child, "radii", at::tensor(renderer.kernel_radii_m, at::kFloat));
    LoadTensor(child, "bandwidths", at::tensor(renderer.kernel_bandwidths_m, at::kFloat));
    LoadTensor(child, "range", at::tensor({renderer.far_m, renderer.empty_radius_m}, at::kFloat));
  });
  const auto expected = OnFirstUse<std::vector<double>>([problem] {
    return std::make_unique<std::vector<double>>(
        ToDoubles(OurGradients(problem().model.get(), problem().sequence).Flat()));
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); }, kBound};
  stage->cases.push_back(peers.Against(stage->base, "torch_eager", check));
  stage->cases.push_back(peers.Against(stage->base, "torch_compile", check));
}

}  // namespace interlacer::bench
