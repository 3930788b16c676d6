/// Neighbour graphs on the device, k = 3, grid build included, against searches on the same device.

#include <memory>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/neighbor_check.h"
#include "bench/stage_cases.h"
#include "knn/grid_index.h"
#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer::bench {
namespace {

/// Fraction of edges in which a peer may differ: ties, and distances expanded into three float32
/// terms.
constexpr double kPeerEdgeShare = 0.01;

struct KnnProblem {
  explicit KnnProblem(const std::vector<float>& positions_m)
      : n(static_cast<std::int64_t>(positions_m.size() / 3)),
        grid(ChooseCellGrid(positions_m)),
        positions(stream, positions_m),
        workspace(stream, static_cast<std::int64_t>(GridKnnWorkspaceBytes(grid, n))),
        neighbors(stream, n * kGraphNeighbors) {}

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchGridKnn(grid, positions.get(), {0, n, n, 0}, kGraphNeighbors, workspace.get(),
                           neighbors.get(), on);
    };
  }

  std::int64_t n;
  CellGrid grid;
  CheckedStream stream;
  DeviceArray<float> positions;
  DeviceArray<char> workspace;
  DeviceArray<std::int32_t> neighbors;
};

GateResult Check(const KnnProblem& p, const std::vector<float>& positions_m, std::uint64_t seed) {
  RunReplayed(p.launch(), [&] { p.neighbors.Poison(); });
  return CheckNeighbors(positions_m, {p.n, kGraphNeighbors, p.neighbors.Read()}, seed);
}

}  // namespace

std::vector<Case> MakeDeviceKnnCases(const Options& options) {
  const auto cloud = std::make_shared<const std::vector<float>>(MakeCloud(options));
  const auto problem =
      OnFirstUse<KnnProblem>([cloud] { return std::make_unique<KnnProblem>(*cloud); });
  Case base = KnnCase("knn/cuda/", options);
  base.ours = "grid_cuda";
  base.gate =
      Once([problem, cloud, seed = options.seed] { return Check(problem(), *cloud, seed); });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("knn_torch.py", options, [&](ChildPeer* child) {
    child->Load("positions", *cloud, {options.tokens(), 3});
    const std::int32_t k = kGraphNeighbors;
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
