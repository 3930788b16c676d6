#include "bench/neighbor_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/random.h"
#include "knn/squared_distance.h"

namespace interlacer::bench {
namespace {

/// Largest number of rows that are compared with all other points.
constexpr std::int64_t kCheckedRows = 2048;

/// Brute-force nearest other points of `row`: smaller squared distance, then smaller index.
std::vector<std::int32_t> BruteForceNearest(const std::vector<float>& positions_m, std::int64_t row,
                                            std::size_t k) {
  const auto n = static_cast<std::int64_t>(positions_m.size() / 3);
  std::vector<std::pair<float, std::int32_t>> best;
  for (std::int64_t other = 0; other < n; ++other) {
    if (other == row) continue;
    const std::pair candidate{SquaredDistance(&positions_m[3 * row], &positions_m[3 * other]),
                              static_cast<std::int32_t>(other)};
    if (best.size() == k && !(candidate < best.back())) continue;
    best.insert(std::upper_bound(best.begin(), best.end(), candidate), candidate);
    if (best.size() > k) best.pop_back();
  }
  std::vector<std::int32_t> indices;
  for (const auto& [sq_dist_m2, index] : best) indices.push_back(index);
  return indices;
}

}  // namespace

GateResult CheckNeighbors(const std::vector<float>& positions_m, const KnnGraph& graph,
                          std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kSubsample);
  const std::int64_t rows = std::min(kCheckedRows, graph.n);
  const auto k = static_cast<std::size_t>(graph.out_degree);
  std::int64_t wrong = 0, found = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row =
        rows == graph.n ? i : random.Below(static_cast<std::uint32_t>(graph.n));
    const auto expected = BruteForceNearest(positions_m, row, k);
    const auto got = graph.neighbors.begin() + row * graph.out_degree;
    for (std::size_t e = 0; e < k; ++e) {
      if (got[e] != expected[e]) ++wrong;
      if (std::find(got, got + k, expected[e]) != got + k) ++found;
    }
  }
  GateResult gate;
  gate.error = static_cast<double>(wrong);
  gate.error_kind = "wrong_edges";
  gate.error_bound = 0;
  gate.reference = "all pairs, " + std::to_string(rows) + " rows";
  gate.recall = static_cast<double>(found) / static_cast<double>(rows * graph.out_degree);
  return gate;
}

}  // namespace interlacer::bench
