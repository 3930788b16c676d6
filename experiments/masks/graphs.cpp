#include "experiments/masks/graphs.h"

#include <set>
#include <utility>

#include "common/random.h"
#include "experiments/binary_tree.h"

namespace interlacer {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

attention::EdgeLists ListsOf(std::int64_t size, const std::vector<Pair>& edges) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(size));
  for (const auto& [a, b] : edges) {
    rows[static_cast<std::size_t>(a)].push_back(b);
    rows[static_cast<std::size_t>(b)].push_back(a);
  }
  attention::EdgeLists lists;
  for (const auto& row : rows) {
    lists.neighbors.insert(lists.neighbors.end(), row.begin(), row.end());
    lists.offsets.push_back(static_cast<std::int64_t>(lists.neighbors.size()));
  }
  return lists;
}

std::int64_t Below(std::int64_t bound, RandomSequence* random) {
  return random->Below(static_cast<std::uint32_t>(bound));
}

}  // namespace

attention::EdgeLists PathGraph(std::int64_t size) {
  std::vector<Pair> edges;
  for (std::int64_t i = 1; i < size; ++i) edges.emplace_back(i - 1, i);
  return ListsOf(size, edges);
}

attention::EdgeLists CirculantGraph(std::int64_t size, std::int64_t reach) {
  std::vector<Pair> edges;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t step = 1; step <= reach; ++step) edges.emplace_back(i, (i + step) % size);
  }
  return ListsOf(size, edges);
}

attention::EdgeLists GridGraph(std::int64_t side) {
  std::vector<Pair> edges;
  for (std::int64_t i = 0; i < side * side; ++i) {
    if ((i + 1) % side != 0) edges.emplace_back(i, i + 1);
    if (i + side < side * side) edges.emplace_back(i, i + side);
  }
  return ListsOf(side * side, edges);
}

attention::EdgeLists RandomGraph(std::int64_t size, std::int64_t edges, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  std::set<Pair> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < edges) {
    const std::int64_t a = Below(size, &random), b = Below(size, &random);
    if (a < b) chosen.emplace(a, b);
  }
  return ListsOf(size, {chosen.begin(), chosen.end()});
}

attention::EdgeLists TreeGraph(const std::vector<std::int64_t>& parents) {
  std::vector<Pair> edges;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] >= 0) edges.emplace_back(parents[i], static_cast<std::int64_t>(i));
  }
  return ListsOf(static_cast<std::int64_t>(parents.size()), edges);
}

std::vector<std::int64_t> RandomBinaryTree(std::int64_t size, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  return DrawBinaryTree(size, &random);
}

std::vector<std::int64_t> Caterpillar(std::int64_t size, std::int64_t spine, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_leaf = i >= spine;
    parents.push_back(is_leaf ? (spine > 2 ? 1 + Below(spine - 2, &random) : 0) : i - 1);
  }
  return parents;
}

}  // namespace interlacer
