/// Neighbour graphs on the device, k = 3, grid build included, against searches on the same device.

#include <memory>
#include <utility>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/neighbor_check.h"
#include "knn/grid_index.h"
#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer::bench {
namespace {

constexpr int kNeighbors = 3;
/// Edges of a peer that may be others: ties, and distances expanded into three float32 terms.
constexpr double kPeerEdgeShare = 0.01;

struct Problem {
  Problem(std::vector<float> cloud, std::int64_t tokens)
      : n(tokens),
        grid(ChooseCellGrid(cloud)),
        positions_m(std::move(cloud)),
        positions(stream, positions_m),
        workspace(stream, static_cast<std::int64_t>(GridKnnWorkspaceBytes(grid, n))),
        neighbors(stream, n * kNeighbors) {}

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchGridKnn(grid, positions.get(), n, kNeighbors, workspace.get(), neighbors.get(),
                           on);
    };
  }

  std::int64_t n;
  CellGrid grid;
  std::vector<float> positions_m;
  BenchStream stream;
  DeviceArray<float> positions;
  DeviceArray<char> workspace;
  DeviceArray<std::int32_t> neighbors;
};

GateResult Check(const Problem& p, std::uint64_t seed) {
  p.neighbors.Poison();
  RunOnce(p.stream, p.launch());
  return CheckNeighbors(p.positions_m, {p.n, kNeighbors, p.neighbors.Read()}, seed);
}

}  // namespace

std::vector<Case> MakeDeviceKnnCases(const Options& options) {
  const auto problem = OnFirstUse<Problem>(
      [options] { return std::make_unique<Problem>(MakeCloud(options), options.tokens()); });
  Case base;
  base.stage = "knn";
  base.name = "knn/cuda/" + options.cloud + "/" + std::to_string(options.tokens());
  base.ours = "grid_cuda";
  base.cloud = options.cloud;
  base.n = options.n;
  base.tokens = options.tokens();
  base.params = {{"k", kNeighbors}, {"timesteps", options.timesteps}};
  base.floor = Floor{Floor::Kind::kMemoryBytes,
                     static_cast<double>(options.tokens()) * (12 + 4 * kNeighbors)};
  base.gate = Once([problem, seed = options.seed] { return Check(problem(), seed); });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("knn_torch.py", options, [&](ChildPeer* child) {
    child->Load("positions", MakeCloud(options), {options.tokens(), 3});
    const std::int32_t k = kNeighbors;
    child->Load("k", std::span(&k, 1), {1});
  });
  const PeerCheck check{[problem](const std::vector<double>& out) {
                          return ShareOfDifferent(out, problem().neighbors.Read());
                        },
                        kPeerEdgeShare};
  return {peers.Against(base, "torch_cdist_topk", check, 5),
          peers.Against(base, "cupy_kdtree", check, 20)};
}

}  // namespace interlacer::bench
