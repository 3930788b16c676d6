/// Neighbour graphs, k = 3, index build included: our grid against other libraries' searches.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/child_peer.h"
#include "bench/clouds.h"
#include "bench/peers/knn_libraries.h"
#include "bench/stages.h"
#include "common/random.h"
#include "knn/brute_force.h"
#include "knn/knn_index.h"

namespace interlacer::bench {
namespace {

constexpr int kNeighbors = 3;
/// Rows compared with every other point; all of them when there are fewer.
constexpr std::int64_t kCheckedRows = 2048;

/// Indices of the nearest other points of `row`: smaller squared distance, then smaller index.
std::vector<std::int32_t> NearestByLookingAtAll(const std::vector<float>& positions_m,
                                                std::int64_t row) {
  const auto n = static_cast<std::int64_t>(positions_m.size() / 3);
  std::vector<std::pair<float, std::int32_t>> best;
  for (std::int64_t other = 0; other < n; ++other) {
    if (other == row) continue;
    const std::pair candidate{SquaredDistance(&positions_m[3 * row], &positions_m[3 * other]),
                              static_cast<std::int32_t>(other)};
    if (best.size() == kNeighbors && !(candidate < best.back())) continue;
    best.insert(std::upper_bound(best.begin(), best.end(), candidate), candidate);
    if (best.size() > kNeighbors) best.pop_back();
  }
  std::vector<std::int32_t> indices;
  for (const auto& [sq_dist_m2, index] : best) indices.push_back(index);
  return indices;
}

GateResult CheckGraph(const KnnIndex& index, const std::vector<float>& positions_m,
                      std::uint64_t seed) {
  const KnnGraph graph = index.Graph(positions_m, kNeighbors).value();
  RandomSequence random(seed, RandomStream::kSubsample);
  const std::int64_t rows = std::min(kCheckedRows, graph.n);
  std::int64_t wrong = 0, found = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row =
        rows == graph.n ? i : random.Below(static_cast<std::uint32_t>(graph.n));
    const auto expected = NearestByLookingAtAll(positions_m, row);
    const auto got = graph.neighbors.begin() + row * kNeighbors;
    for (int e = 0; e < kNeighbors; ++e) {
      if (got[e] != expected[e]) ++wrong;
      if (std::find(got, got + kNeighbors, expected[e]) != got + kNeighbors) ++found;
    }
  }
  GateResult gate;
  gate.error = static_cast<double>(wrong);
  gate.error_kind = "wrong_edges";
  gate.error_bound = 0;
  gate.reference = "all pairs, " + std::to_string(rows) + " rows";
  gate.recall = static_cast<double>(found) / static_cast<double>(rows * kNeighbors);
  return gate;
}

void AddScipy(const Case& base, const std::shared_ptr<const std::vector<float>>& cloud, int threads,
              std::vector<Case>* cases) {
  Case item = Against(base, "scipy");
  try {
    const auto child = std::make_shared<ChildPeer>("knn_scipy.py", threads);
    child->Load("positions", *cloud, {static_cast<std::int64_t>(cloud->size() / 3), 3});
    const std::int32_t k = kNeighbors;
    child->Load("k", std::span(&k, 1), {1});
    item.peer_version = child->version();
    item.run_peer = [child] { return child->RunMs(); };
  } catch (const PeerError& error) {
    item.skipped = error.what();
  }
  cases->push_back(std::move(item));
}

}  // namespace

std::vector<Case> MakeKnnCases(const Options& options) {
  const KnnBackend backend = options.device == "cuda" ? KnnBackend::kGridCuda : KnnBackend::kGrid;
  if (!KnnBackendAvailable(backend))
    throw StageAbsent("knn: no CUDA device in this build or machine");
  const auto cloud = std::make_shared<const std::vector<float>>(MakeCloud(options));
  const std::shared_ptr<KnnIndex> index = MakeKnnIndex(backend).value();

  Case base;
  base.stage = "knn";
  base.name = "knn/" + options.cloud + "/" + std::to_string(options.tokens());
  base.ours = KnnBackendName(backend);
  base.cloud = options.cloud;
  base.n = options.n;
  base.tokens = options.tokens();
  base.params = {{"k", kNeighbors}, {"timesteps", options.timesteps}};
  base.floor = Floor{Floor::Kind::kMemoryBytes,
                     static_cast<double>(options.tokens()) * (12 + 4 * kNeighbors)};
  base.gate =
      Once([index, cloud, seed = options.seed] { return CheckGraph(*index, *cloud, seed); });
  base.run_ours = Timed([index, cloud] { index->Graph(*cloud, kNeighbors).value(); });

  std::vector<Case> cases;
  for (const KnnLibrary& library : KnnLibraries()) {
    Case item = Against(base, library.name);
    item.peer_version = library.version;
    if (library.name == "nanoflann") {
      item.goal = options.cloud == "sheet" && options.timesteps == 1 ? 2 : 3;
    }
    if (library.build_and_query) {
      item.run_peer = Timed([cloud, run = library.build_and_query] { run(*cloud, kNeighbors); });
    } else {
      item.skipped = library.missing;
    }
    cases.push_back(std::move(item));
  }
  AddScipy(base, cloud, options.threads, &cases);
  return cases;
}

}  // namespace interlacer::bench
