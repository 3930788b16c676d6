/// Neighbour graphs, k = 3, index build included: our grid against other libraries' searches, with
/// the recall of these.

#include <memory>
#include <utility>

#include "bench/child_peer.h"
#include "bench/clouds.h"
#include "bench/host_platform.h"
#include "bench/neighbor_check.h"
#include "bench/peers/knn_libraries.h"
#include "bench/stage_cases.h"
#include "knn/knn_index.h"
#include "knn/recall.h"

namespace interlacer::bench {
namespace {

void AddScipy(const Case& base, const std::shared_ptr<const std::vector<float>>& cloud, int threads,
              std::vector<Case>* cases) {
  Case item = Against(base, "scipy");
  try {
    const auto child = std::make_shared<ChildPeer>("knn_scipy.py", threads);
    child->Load("positions", *cloud, {static_cast<std::int64_t>(cloud->size() / 3), 3});
    const std::int32_t k = kGraphNeighbors;
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
  constexpr KnnBackend backend = KnnBackend::kGrid;
  const auto cloud = std::make_shared<const std::vector<float>>(MakeCloud(options));
  const std::shared_ptr<KnnIndex> index = MakeKnnIndex(backend).value();

  Case base = KnnCase("knn/", options);
  base.ours = KnnBackendName(backend);
  base.gate = Once([index, cloud, seed = options.seed] {
    return CheckNeighbors(*cloud, index->Graph(*cloud, kGraphNeighbors).value(), seed);
  });
  base.run_ours = Timed([index, cloud] { index->Graph(*cloud, kGraphNeighbors).value(); });

  std::vector<Case> cases;
  for (const KnnLibrary& library : KnnLibraries()) {
    Case item = Against(base, library.name);
    item.peer_version = library.version;
    if (library.name == "nanoflann") {
      item.goal = options.cloud == "sheet" && options.timesteps == 1 ? 2 : 3;
    }
    if (library.build_and_query) {
      const auto found = std::make_shared<KnnGraph>();
      item.run_peer = Timed([cloud, found, run = library.build_and_query] {
        found->neighbors = run(*cloud, kGraphNeighbors);
      });
      item.peer_recall = [index, cloud, found] {
        const KnnGraph exact = index->Graph(*cloud, kGraphNeighbors).value();
        found->n = exact.n;
        found->out_degree = exact.out_degree;
        return Recall(*found, exact);
      };
    } else {
      item.skipped = library.missing;
    }
    cases.push_back(std::move(item));
  }
  AddScipy(base, cloud, options.threads, &cases);
  return cases;
}

}  // namespace interlacer::bench
