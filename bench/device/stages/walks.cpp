/// Merged lists of all walks of up to three hops on the device, against CuPy's enumeration.

#include <memory>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/device/walk_problem.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "knn/kernels/walk_lists_cuda.h"

namespace interlacer::bench {
namespace {

struct WalkListsProblem {
  explicit WalkListsProblem(const KnnGraph& graph)
      : n(graph.n),
        out_degree(graph.out_degree),
        neighbors(stream, graph.neighbors),
        workspace(stream, static_cast<std::int64_t>(WalkListsWorkspaceBytes(n))),
        offsets(stream, n + 1),
        entries(stream, n * kMaxWalkRowSize) {}

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchWalkLists({neighbors.get(), out_degree}, n, workspace.get(), offsets.get(),
                             entries.get(), on);
    };
  }

  std::int64_t n;
  int out_degree;
  CheckedStream stream;
  DeviceArray<std::int32_t> neighbors;
  DeviceArray<char> workspace;
  DeviceArray<std::int32_t> offsets;
  DeviceArray<std::uint32_t> entries;
};

std::vector<std::uint32_t> NodesOf(const WalkLists& lists) {
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t entry : lists.entries) nodes.push_back(WalkEntryNode(entry));
  return nodes;
}

GateResult Check(const WalkListsProblem& p, const WalkLists& expected) {
  RunReplayed(p.launch(), [&] {
    p.offsets.Poison();
    p.entries.Poison();
  });
  GateResult gate;
  gate.error_kind = "share_wrong";
  gate.reference = "CPU twin, all entries";
  const std::vector<std::int32_t> offsets = p.offsets.Read();
  gate.error = ShareOfDifferent(offsets, expected.offsets);
  if (gate.error != 0) return gate;
  gate.error = ShareOfDifferent(p.entries.Read(offsets.back()), expected.entries);
  return gate;
}

}  // namespace

std::vector<Case> MakeDeviceWalkCases(const Options& options) {
  const auto host = std::make_shared<const WalkProblem>(MakeWalkProblem(options));
  const auto problem = OnFirstUse<WalkListsProblem>(
      [host] { return std::make_unique<WalkListsProblem>(host->graph); });

  Case base = WalksCase("walks/cuda/", options, host->graph, host->lists);
  base.ours = "merged_lists_cuda";
  base.gate = Once([problem, host] { return Check(problem(), host->lists); });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("walks_cupy.py", options, [&](ChildPeer* child) {
    child->Load("neighbors", std::span(host->graph.neighbors), {host->graph.n, kGraphNeighbors});
    const std::int32_t merge = 1;
    child->Load("merge", std::span(&merge, 1), {1});
  });
  const PeerCheck check{[nodes = NodesOf(host->lists)](const std::vector<double>& out) {
                          return ShareOfDifferent(out, nodes);
                        },
                        0};
  return {peers.Against(base, "cupy", check, 20)};
}

}  // namespace interlacer::bench
