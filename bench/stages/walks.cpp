/// Merged lists of all walks of up to three hops, against NumPy.

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/child_peer.h"
#include "bench/clouds.h"
#include "bench/host_platform.h"
#include "bench/stage_cases.h"
#include "knn/knn_index.h"
#include "knn/walk_lists.h"

namespace interlacer::bench {
namespace {

/// Number of roots whose walks are followed one by one.
constexpr std::int64_t kCheckedRoots = 4096;

/// Counts differences between a row of the lists and the walks of `root`, followed one by one.
std::int64_t CountWrongEntries(const KnnGraph& graph, const WalkLists& lists, std::int32_t root) {
  std::vector<std::vector<std::int32_t>> ends{{root}};
  for (int hop = 1; hop <= kMaxHops; ++hop) {
    ends.emplace_back();
    for (const std::int32_t node : ends[hop - 1]) {
      for (int e = 0; e < graph.out_degree; ++e) {
        ends[hop].push_back(graph.neighbors[std::int64_t{node} * graph.out_degree + e]);
      }
    }
  }
  std::int64_t wrong = 0, listed = 0, walked = 0;
  std::int64_t previous = -1;
  for (std::int32_t e = lists.offsets[root]; e < lists.offsets[root + 1]; ++e) {
    const auto node = static_cast<std::int32_t>(WalkEntryNode(lists.entries[e]));
    if (node <= previous) ++wrong;  // must be ascending without duplicates
    previous = node;
    for (int hop = 0; hop <= kMaxHops; ++hop) {
      const auto expected = std::count(ends[hop].begin(), ends[hop].end(), node);
      const int got = WalkCodeCount(WalkEntryCode(lists.entries[e]), hop);
      if (got != expected) ++wrong;
      listed += got;
    }
  }
  for (const auto& of_hop : ends) walked += static_cast<std::int64_t>(of_hop.size());
  return wrong + (listed != walked);
}

GateResult CheckLists(const KnnGraph& graph) {
  const WalkLists lists = BuildWalkLists(graph).value();
  GateResult gate;
  gate.error = 0;
  const std::int64_t stride = std::max<std::int64_t>(1, graph.n / kCheckedRoots);
  for (std::int64_t root = 0; root < graph.n; root += stride) {
    gate.error +=
        static_cast<double>(CountWrongEntries(graph, lists, static_cast<std::int32_t>(root)));
  }
  gate.error_kind = "wrong_entries";
  gate.reference = "walks one by one";
  return gate;
}

/// Requires that the peer's merged lists equal ours.
void RequireEqual(const WalkLists& lists, ChildPeer* child) {
  child->RunMs();
  const std::vector<double> nodes = child->Fetch("nodes"), counts = child->Fetch("counts");
  bool equal = nodes.size() == lists.entries.size();
  for (std::size_t e = 0; equal && e < nodes.size(); ++e) {
    equal = nodes[e] == WalkEntryNode(lists.entries[e]);
    for (int hop = 0; hop <= kMaxHops; ++hop) {
      equal = equal && counts[4 * e + hop] == WalkCodeCount(WalkEntryCode(lists.entries[e]), hop);
    }
  }
  if (!equal) throw PeerError("walks_numpy.py: gives other lists");
}

}  // namespace

std::vector<Case> MakeWalkCases(const Options& options) {
  const std::vector<float> positions_m = InSpatialOrder(MakeCloud(options));
  const auto graph = std::make_shared<const KnnGraph>(
      MakeKnnIndex(KnnBackend::kGrid).value()->Graph(positions_m, kGraphNeighbors).value());
  const WalkLists lists = BuildWalkLists(*graph).value();

  Case base = WalksCase("walks/", options, *graph, lists);
  base.ours = "merged_lists";
  base.gate = Once([graph] { return CheckLists(*graph); });
  base.run_ours = Timed([graph] { BuildWalkLists(*graph).value(); });

  std::vector<Case> cases;
  for (const bool merge : {true, false}) {
    Case item = Against(base, merge ? "numpy" : "numpy_unmerged");
    if (merge) item.goal = 20;
    try {
      const auto child = std::make_shared<ChildPeer>("walks_numpy.py", options.threads);
      child->Load("neighbors", std::span(graph->neighbors), {graph->n, graph->out_degree});
      const std::int32_t flag = merge;
      child->Load("merge", std::span(&flag, 1), {1});
      if (merge) RequireEqual(lists, child.get());
      item.peer_version = child->version();
      item.run_peer = [child] { return child->RunMs(); };
    } catch (const PeerError& error) {
      item.skipped = error.what();
    }
    cases.push_back(std::move(item));
  }
  return cases;
}

}  // namespace interlacer::bench
