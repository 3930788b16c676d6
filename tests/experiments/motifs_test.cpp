/// Graphs with a motif and without, counted by a search of their own.

#include "experiments/learning/motifs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

using Adjacency = std::vector<std::set<std::int64_t>>;

Adjacency AdjacencyOf(const Example& example) {
  Adjacency rows(static_cast<std::size_t>(example.token_count));
  for (std::int64_t i = 0; i < example.token_count; ++i) {
    for (std::int64_t e = example.graph.offsets[i]; e < example.graph.offsets[i + 1]; ++e) {
      rows[i].insert(example.graph.neighbors[e]);
    }
  }
  return rows;
}

/// What each motif is, said once more: degrees of its nodes and lengths of its shortest cycles.
struct Known {
  const char* name;
  std::int64_t nodes, edges;
  std::vector<std::size_t> degrees;  ///< ascending
  std::int64_t triangles, squares;
};
const std::vector<Known> kKnown{{"caveman", 9, 12, {2, 2, 2, 2, 2, 2, 4, 4, 4}, 4, 0},
                                {"circle", 10, 10, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 0, 0},
                                {"grid", 9, 12, {2, 2, 2, 2, 3, 3, 3, 3, 4}, 0, 4},
                                {"ladder", 10, 13, {2, 2, 2, 2, 3, 3, 3, 3, 3, 3}, 0, 4},
                                {"circular_ladder", 10, 15, {3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, 0, 5}};

/// Ways to lay the motif's nodes from `next` on into the graph so that its edges are there; stops
/// at the first.
bool FitsFrom(const Motif& motif, const Adjacency& graph, std::vector<std::int64_t>* places) {
  const auto next = static_cast<std::int64_t>(places->size());
  if (next == motif.node_count) return true;
  for (std::int64_t node = 0; node < static_cast<std::int64_t>(graph.size()); ++node) {
    if (std::find(places->begin(), places->end(), node) != places->end()) continue;
    bool fits = true;
    for (const auto& [a, b] : motif.edges) {
      const std::int64_t other = a == next ? b : b == next ? a : -1;
      if (other >= 0 && other < next && !graph[node].contains((*places)[other])) fits = false;
    }
    if (!fits) continue;
    places->push_back(node);
    if (FitsFrom(motif, graph, places)) return true;
    places->pop_back();
  }
  return false;
}

bool HoldsMotif(const Motif& motif, const Adjacency& graph) {
  std::vector<std::int64_t> places;
  return FitsFrom(motif, graph, &places);
}

/// The first `count` nodes alone.
Adjacency Part(const Adjacency& graph, std::int64_t count) {
  Adjacency part(graph.begin(), graph.begin() + count);
  for (auto& row : part) row.erase(row.lower_bound(count), row.end());
  return part;
}

std::int64_t EdgesOf(const Adjacency& graph) {
  std::size_t ends = 0;
  for (const auto& row : graph) ends += row.size();
  return static_cast<std::int64_t>(ends / 2);
}

std::int64_t CyclesOf(const Adjacency& graph, int length) {
  std::int64_t count = 0;
  const auto n = static_cast<std::int64_t>(graph.size());
  for (std::int64_t a = 0; a < n; ++a) {
    for (const std::int64_t b : graph[a]) {
      for (const std::int64_t c : graph[b]) {
        if (c == a) continue;
        if (length == 3) count += graph[c].contains(a) ? 1 : 0;
        if (length == 3) continue;
        for (const std::int64_t d : graph[c]) {
          if (d != a && d != b && graph[d].contains(a)) ++count;
        }
      }
    }
  }
  return count / (2 * length);
}

TEST(Motifs, AreTheGraphsOfTheirNames) {
  ASSERT_EQ(Motifs().size(), kKnown.size());
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.name);
    const auto motif = std::find_if(Motifs().begin(), Motifs().end(),
                                    [&](const Motif& m) { return m.name == known.name; });
    ASSERT_NE(motif, Motifs().end());
    Adjacency graph(static_cast<std::size_t>(motif->node_count));
    for (const auto& [a, b] : motif->edges) {
      EXPECT_NE(a, b);
      graph[a].insert(b);
      graph[b].insert(a);
    }
    EXPECT_EQ(motif->node_count, known.nodes);
    EXPECT_EQ(EdgesOf(graph), known.edges);
    std::vector<std::size_t> degrees;
    for (const auto& row : graph) degrees.push_back(row.size());
    std::sort(degrees.begin(), degrees.end());
    EXPECT_EQ(degrees, known.degrees);
    EXPECT_EQ(CyclesOf(graph, 3), known.triangles);
    EXPECT_EQ(CyclesOf(graph, 4), known.squares);
  }
}

TEST(Motifs, ArePresentInPositivesAndAbsentFromWhatReplacesThem) {
  for (const Motif& motif : Motifs()) {
    SCOPED_TRACE(motif.name);
    const auto made = Must(MotifSet::Make({motif.name, 20, 10, 10, 3}));
    std::int64_t negatives_with_motif = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
      SCOPED_TRACE(i);
      const Example example = made.At(LearningSplit::kTrain, i);
      const Adjacency graph = AdjacencyOf(example);
      for (std::int64_t a = 0; a < example.token_count; ++a) {
        EXPECT_FALSE(graph[a].contains(a));
        EXPECT_FALSE(graph[a].empty());
        for (const std::int64_t b : graph[a]) EXPECT_TRUE(graph[b].contains(a));
      }
      EXPECT_EQ(example.target[0], i % 2 == 0 ? 1 : 0);
      if (i % 2 == 0) {
        const Adjacency part = Part(graph, motif.node_count);
        EXPECT_EQ(EdgesOf(part), static_cast<std::int64_t>(motif.edges.size()));
        EXPECT_TRUE(HoldsMotif(motif, part));
        continue;
      }
      // The pair shares its big graph, which is what lies behind the small one.
      const Adjacency twin = AdjacencyOf(made.At(LearningSplit::kTrain, i - 1));
      const auto big = static_cast<std::int64_t>(twin.size()) - motif.node_count;
      const auto small = static_cast<std::int64_t>(graph.size()) - big;
      ASSERT_GT(small, 0);
      ASSERT_LE(small, motif.node_count);
      for (std::int64_t a = 0; a < big; ++a) {
        std::set<std::int64_t> ours, theirs;
        for (const std::int64_t b : graph[small + a]) {
          if (b >= small) ours.insert(b - small);
        }
        for (const std::int64_t b : twin[motif.node_count + a]) {
          if (b >= motif.node_count) theirs.insert(b - motif.node_count);
        }
        EXPECT_EQ(ours, theirs);
      }
      const Adjacency part = Part(graph, small);
      EXPECT_EQ(EdgesOf(part), static_cast<std::int64_t>(motif.edges.size()));
      negatives_with_motif += HoldsMotif(motif, part) ? 1 : 0;
    }
    EXPECT_EQ(negatives_with_motif, 0);
  }
}

TEST(Motifs, FeaturesAreTheLargestDegreesOfNeighbours) {
  const auto made = Must(MotifSet::Make({"grid", 4, 2, 2, 0}));
  const Example example = made.At(LearningSplit::kTrain, 1);
  const Adjacency graph = AdjacencyOf(example);
  for (std::size_t a = 0; a < graph.size(); ++a) {
    std::multiset<float, std::greater<>> degrees;
    for (const std::int64_t b : graph[a]) degrees.insert(static_cast<float>(graph[b].size()));
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(example.features[5 * a + rank], degrees.empty() ? 0 : *degrees.begin());
      if (!degrees.empty()) degrees.erase(degrees.begin());
    }
  }
}

TEST(Motifs, SplitsAndSeedsShareNoGraph) {
  const auto first = MotifSet::Make({"circle", 8, 8, 8, 0});
  const auto again = MotifSet::Make({"circle", 4, 4, 4, 0});
  const auto other = MotifSet::Make({"circle", 8, 8, 8, 1});
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  std::set<std::vector<std::int64_t>> graphs;
  for (const auto* set : {&*first, &*other}) {
    for (const auto split :
         {LearningSplit::kTrain, LearningSplit::kValidation, LearningSplit::kTest}) {
      for (std::int64_t i = 0; i < 8; ++i) graphs.insert(set->At(split, i).graph.neighbors);
    }
  }
  EXPECT_EQ(graphs.size(), 48u);
  // A smaller set is the beginning of a larger one.
  EXPECT_EQ(first->At(LearningSplit::kTest, 3).graph.neighbors,
            again->At(LearningSplit::kTest, 3).graph.neighbors);
}

/// Hops from a node to all others, in a connected graph.
std::vector<std::int64_t> HopsFrom(const Adjacency& graph, std::int64_t start) {
  std::vector<std::int64_t> hops(graph.size(), -1), queue{start};
  hops[start] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const std::int64_t next : graph[queue[head]]) {
      if (hops[next] >= 0) continue;
      hops[next] = hops[queue[head]] + 1;
      queue.push_back(next);
    }
  }
  return hops;
}

/// Nodes of the one cycle of a graph: what is left without leaves, again and again.
std::int64_t NodesOfCycle(Adjacency graph) {
  bool is_left = true;
  while (is_left) {
    is_left = false;
    for (std::size_t node = 0; node < graph.size(); ++node) {
      if (graph[node].size() != 1) continue;
      graph[*graph[node].begin()].erase(static_cast<std::int64_t>(node));
      graph[node].clear();
      is_left = true;
    }
  }
  return std::count_if(graph.begin(), graph.end(), [](const auto& row) { return !row.empty(); });
}

TEST(InducedCycles, AreAsLongAsTheTreeAllowsInPositivesAlone) {
  const auto made = Must(MotifSet::Make({std::string(kInducedCycle), 40, 2, 2, 4}));
  EXPECT_EQ(made.form().feature_width, 1);
  std::set<std::int64_t> shorter;
  for (std::int64_t i = 0; i < 40; i += 2) {
    SCOPED_TRACE(i);
    const Example positive = made.At(LearningSplit::kTrain, i);
    const Example negative = made.At(LearningSplit::kTrain, i + 1);
    EXPECT_EQ(positive.target[0], 1);
    EXPECT_EQ(negative.target[0], 0);
    ASSERT_EQ(positive.token_count, 50);
    ASSERT_EQ(negative.token_count, 50);
    const Adjacency a = AdjacencyOf(positive), b = AdjacencyOf(negative);
    EXPECT_EQ(EdgesOf(a), 50);
    EXPECT_EQ(EdgesOf(b), 50);
    // What both have is their tree.
    Adjacency tree(50);
    for (std::size_t node = 0; node < 50; ++node) {
      std::set_intersection(a[node].begin(), a[node].end(), b[node].begin(), b[node].end(),
                            std::inserter(tree[node], tree[node].end()));
      EXPECT_LE(tree[node].size(), 3u);
    }
    EXPECT_EQ(EdgesOf(tree), 49);
    std::int64_t diameter = 0;
    for (std::int64_t node = 0; node < 50; ++node) {
      for (const std::int64_t hops : HopsFrom(tree, node)) {
        ASSERT_GE(hops, 0);
        diameter = std::max(diameter, hops);
      }
    }
    EXPECT_EQ(NodesOfCycle(a), diameter + 1);
    const std::int64_t length = NodesOfCycle(b);
    EXPECT_GE(length, 3);
    EXPECT_LE(length, diameter);
    shorter.insert(diameter - length);
  }
  EXPECT_GT(shorter.size(), 3u);
}

TEST(InducedCycles, HaveDegreesOfMeanZeroAndDeviationOne) {
  const auto made = Must(MotifSet::Make({std::string(kInducedCycle), 4, 2, 2, 0}));
  const Example example = made.At(LearningSplit::kTest, 1);
  const Adjacency graph = AdjacencyOf(example);
  ASSERT_EQ(example.features.size(), 50u);
  double sum = 0, squares = 0;
  std::map<std::size_t, float> by_degree;
  for (std::size_t node = 0; node < 50; ++node) {
    sum += example.features[node];
    squares += example.features[node] * example.features[node];
    EXPECT_EQ(by_degree.try_emplace(graph[node].size(), example.features[node]).first->second,
              example.features[node]);
  }
  EXPECT_NEAR(sum, 0, 1e-4);
  EXPECT_NEAR(squares / 50, 1, 1e-5);
  EXPECT_LT(by_degree.at(1), by_degree.at(3));
}

TEST(Motifs, RefusesWhatIsNone) {
  const auto error = [](const MotifSettings& settings) {
    return MotifSet::Make(settings).status().ToString();
  };
  EXPECT_THAT(error({"star", 4, 2, 2, 0}), HasSubstr("motif: expected one of caveman, circle"));
  EXPECT_THAT(error({"grid", 5, 2, 2, 0}), HasSubstr("train: expected an even number"));
  EXPECT_THAT(error({"grid", 4, 0, 2, 0}), HasSubstr("validation: expected"));
  EXPECT_THAT(error({"grid", 4, 2, std::int64_t{1} << 40, 0}), HasSubstr("test: expected"));
}

}  // namespace
}  // namespace interlacer
