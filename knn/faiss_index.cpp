#include "knn/faiss_index.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/squared_distance.h"

namespace interlacer {
namespace {

constexpr int kExtraCandidates = 8;
constexpr std::int64_t kPointsPerList = 64;
constexpr std::int64_t kListsVisited = 12;
constexpr int kClusteringRounds = 5;
constexpr int kClusteringSeed = 1234;

/// The cloud around zero and within [-1, 1]: FAISS expands |a - b|^2 into three terms, which needs
/// small coordinates, and its clustering aborts the program on distances that overflow.
std::vector<float> Normalized(std::span<const float> positions_m, std::int64_t n) {
  double center_m[3] = {0, 0, 0};
  for (std::int64_t c = 0; c < 3 * n; ++c) {
    center_m[c % 3] += positions_m[c] / static_cast<double>(n);
  }
  double largest_m = 0;
  for (std::int64_t c = 0; c < 3 * n; ++c) {
    largest_m = std::max(largest_m, std::abs(positions_m[c] - center_m[c % 3]));
  }
  const double scale = largest_m > 0 ? 1 / largest_m : 1;
  std::vector<float> normalized(positions_m.size());
  for (std::int64_t c = 0; c < 3 * n; ++c) {
    normalized[c] = static_cast<float>((positions_m[c] - center_m[c % 3]) * scale);
  }
  return normalized;
}

using Candidate = std::pair<float, std::int32_t>;

/// The candidates of one row without self and without gaps, in our order.
std::vector<Candidate> Ordered(std::span<const float> positions_m, std::int64_t i,
                               std::span<const faiss::Index::idx_t> labels) {
  std::vector<Candidate> row;
  for (const faiss::Index::idx_t j : labels) {
    if (j < 0 || j == i) continue;
    row.emplace_back(SquaredDistance(&positions_m[3 * i], &positions_m[3 * j]),
                     static_cast<std::int32_t>(j));
  }
  std::sort(row.begin(), row.end());
  return row;
}

std::vector<Candidate> AllOthers(std::span<const float> positions_m, std::int64_t n,
                                 std::int64_t i) {
  std::vector<faiss::Index::idx_t> labels(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) labels[j] = j;
  return Ordered(positions_m, i, labels);
}

class FaissIndex : public KnnIndex {
 public:
  explicit FaissIndex(KnnBackend backend) : backend_(backend) {}

  StatusOr<KnnGraph> Graph(std::span<const float> positions_m, int k) const override {
    INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, k));
    KnnGraph graph;
    graph.n = n;
    if (n <= 1) return graph;
    graph.out_degree = static_cast<int>(std::min<std::int64_t>(k, n - 1));
    graph.neighbors.resize(static_cast<std::size_t>(n * graph.out_degree));
    // The query itself is among its candidates, and ties may be rounded differently.
    const std::int64_t fetched = std::min<std::int64_t>(n, graph.out_degree + kExtraCandidates);
    std::vector<faiss::Index::idx_t> labels(static_cast<std::size_t>(n * fetched));
    try {
      Search(Normalized(positions_m, n), n, fetched, labels.data());
    } catch (const std::exception& error) {
      return Internal(std::string("FAISS: ") + error.what());
    }
    ParallelFor(n, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::vector<Candidate> row = Ordered(
            positions_m, i, {labels.data() + i * fetched, static_cast<std::size_t>(fetched)});
        if (row.size() < static_cast<std::size_t>(graph.out_degree)) {
          row = AllOthers(positions_m, n, i);
        }
        for (int r = 0; r < graph.out_degree; ++r) {
          graph.neighbors[i * graph.out_degree + r] = row[r].second;
        }
      }
    });
    return graph;
  }

 private:
  void Search(const std::vector<float>& points, std::int64_t n, std::int64_t fetched,
              faiss::Index::idx_t* labels) const {
    std::vector<float> distances(static_cast<std::size_t>(n * fetched));
    faiss::IndexFlatL2 flat(3);
    if (backend_ == KnnBackend::kFaissFlat) {
      flat.add(n, points.data());
      flat.search(n, points.data(), fetched, distances.data(), labels);
      return;
    }
    const std::int64_t lists = std::max<std::int64_t>(1, n / kPointsPerList);
    faiss::IndexIVFFlat inverted(&flat, 3, static_cast<std::size_t>(lists));
    inverted.nprobe = static_cast<std::size_t>(std::min(kListsVisited, lists));
    inverted.cp.niter = kClusteringRounds;
    inverted.cp.seed = kClusteringSeed;
    inverted.cp.min_points_per_centroid = 1;
    inverted.train(n, points.data());
    inverted.add(n, points.data());
    inverted.search(n, points.data(), fetched, distances.data(), labels);
  }

  KnnBackend backend_;
};

}  // namespace

bool FaissAvailable() { return true; }

std::unique_ptr<KnnIndex> MakeFaissIndex(KnnBackend backend) {
  return std::make_unique<FaissIndex>(backend);
}

}  // namespace interlacer
