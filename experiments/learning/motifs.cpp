#include "experiments/learning/motifs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "common/random.h"
#include "experiments/learning/induced_cycle.h"

namespace interlacer {
namespace {

constexpr std::int64_t kBigNodes = 100;
constexpr double kJoinProbability = 0.004;
constexpr std::int64_t kFeatureWidth = 5;
/// So that counts of a file cannot take the memory of the machine.
constexpr std::int64_t kMaxGraphs = 1 << 18;

using Edge = std::array<std::int64_t, 2>;

struct SmallGraph {
  std::int64_t node_count = 0;
  std::vector<Edge> edges;
};

/// Rungs between two paths or circles of `length` nodes.
std::vector<Edge> LadderEdges(std::int64_t length, bool is_circular) {
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < length; ++i) {
    edges.push_back({i, length + i});
    if (i + 1 == length && !is_circular) continue;
    const std::int64_t next = (i + 1) % length;
    edges.push_back({i, next});
    edges.push_back({length + i, length + next});
  }
  return edges;
}

std::vector<Edge> CircleEdges(std::int64_t length) {
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < length; ++i) edges.push_back({i, (i + 1) % length});
  return edges;
}

std::vector<Edge> GridEdges(std::int64_t side) {
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < side * side; ++i) {
    if ((i + 1) % side != 0) edges.push_back({i, i + 1});
    if (i + side < side * side) edges.push_back({i, i + side});
  }
  return edges;
}

/// Three triangles, a corner of each joined to those of the others.
std::vector<Edge> CavemanEdges() {
  return {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5},
          {6, 7}, {6, 8}, {7, 8}, {2, 5}, {2, 8}, {5, 8}};
}

/// Numbers of the nodes that have an edge, from 0 on.
SmallGraph WithoutLoneNodes(const SmallGraph& graph) {
  std::vector<std::int64_t> number(static_cast<std::size_t>(graph.node_count), -1);
  for (const Edge& edge : graph.edges) {
    for (const std::int64_t node : edge) number[static_cast<std::size_t>(node)] = 0;
  }
  SmallGraph kept;
  for (std::int64_t& entry : number) {
    if (entry == 0) entry = kept.node_count++;
  }
  for (const Edge& edge : graph.edges) {
    kept.edges.push_back(
        {number[static_cast<std::size_t>(edge[0])], number[static_cast<std::size_t>(edge[1])]});
  }
  return kept;
}

SmallGraph ErdosRenyi(std::int64_t nodes, double probability, RandomSequence* random) {
  SmallGraph graph{nodes, {}};
  for (std::int64_t a = 0; a < nodes; ++a) {
    for (std::int64_t b = a + 1; b < nodes; ++b) {
      if (random->Uniform() < probability) graph.edges.push_back({a, b});
    }
  }
  return WithoutLoneNodes(graph);
}

/// An Erdős-Rényi graph given its number of edges: so many different pairs, all sets alike.
SmallGraph RandomOfEdges(std::int64_t nodes, std::int64_t edge_count, RandomSequence* random) {
  SmallGraph pairs{nodes, {}};
  for (std::int64_t a = 0; a < nodes; ++a) {
    for (std::int64_t b = a + 1; b < nodes; ++b) pairs.edges.push_back({a, b});
  }
  for (std::int64_t i = 0; i < edge_count; ++i) {
    const auto left =
        static_cast<std::uint32_t>(pairs.edges.size()) - static_cast<std::uint32_t>(i);
    std::swap(pairs.edges[static_cast<std::size_t>(i)],
              pairs.edges[static_cast<std::size_t>(i) + random->Below(left)]);
  }
  pairs.edges.resize(static_cast<std::size_t>(edge_count));
  return WithoutLoneNodes(pairs);
}

/// `first`, `second`, and edges between them: one at least.
SmallGraph Join(const SmallGraph& first, const SmallGraph& second, RandomSequence* random) {
  SmallGraph joined{first.node_count + second.node_count, first.edges};
  for (const Edge& edge : second.edges) {
    joined.edges.push_back({first.node_count + edge[0], first.node_count + edge[1]});
  }
  const std::size_t before = joined.edges.size();
  while (joined.edges.size() == before) {
    for (std::int64_t a = 0; a < first.node_count; ++a) {
      for (std::int64_t b = 0; b < second.node_count; ++b) {
        if (random->Uniform() < kJoinProbability) joined.edges.push_back({a, first.node_count + b});
      }
    }
  }
  return joined;
}

/// Neighbours of every node, ascending.
using Rows = std::vector<std::vector<std::int64_t>>;

/// The largest degrees of neighbours.
std::vector<float> NeighbourDegrees(const Rows& rows) {
  std::vector<float> features;
  for (const auto& row : rows) {
    std::vector<float> degrees;
    for (const std::int64_t neighbor : row) {
      degrees.push_back(static_cast<float>(rows[static_cast<std::size_t>(neighbor)].size()));
    }
    std::sort(degrees.begin(), degrees.end(), std::greater<>());
    degrees.resize(kFeatureWidth, 0);
    features.insert(features.end(), degrees.begin(), degrees.end());
  }
  return features;
}

/// Degrees of mean 0 and deviation 1; not all are equal.
std::vector<float> StandardDegrees(const Rows& rows) {
  const auto count = static_cast<double>(rows.size());
  double sum = 0, squares = 0;
  for (const auto& row : rows) {
    const auto degree = static_cast<double>(row.size());
    sum += degree;
    squares += degree * degree;
  }
  const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  std::vector<float> features;
  for (const auto& row : rows) {
    features.push_back(static_cast<float>((static_cast<double>(row.size()) - mean) / deviation));
  }
  return features;
}

Example ExampleOf(const SmallGraph& graph, bool is_positive,
                  std::vector<float> (*features_of)(const Rows&)) {
  Rows rows(static_cast<std::size_t>(graph.node_count));
  for (const auto& [a, b] : graph.edges) {
    rows[static_cast<std::size_t>(a)].push_back(b);
    rows[static_cast<std::size_t>(b)].push_back(a);
  }
  Example example;
  example.token_count = graph.node_count;
  example.target = {is_positive ? 1.0 : 0.0};
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    example.graph.neighbors.insert(example.graph.neighbors.end(), row.begin(), row.end());
    example.graph.offsets.push_back(static_cast<std::int64_t>(example.graph.neighbors.size()));
  }
  example.features = features_of(rows);
  return example;
}

const Motif* FindMotif(const std::string& name) {
  for (const Motif& motif : Motifs()) {
    if (motif.name == name) return &motif;
  }
  return nullptr;
}

std::string MotifNames() {
  std::string names;
  for (const Motif& motif : Motifs()) names += motif.name + ", ";
  return names + std::string(kInducedCycle);
}

Status CheckCount(const char* key, std::int64_t count) {
  if (count >= 2 && count <= kMaxGraphs && count % 2 == 0) return Status::Ok();
  return Mismatch(reason::CONFIG_INVALID, key,
                  "an even number of graphs from 2 to " + std::to_string(kMaxGraphs),
                  std::to_string(count));
}

}  // namespace

const std::vector<Motif>& Motifs() {
  static const std::vector<Motif> motifs{{"caveman", 9, CavemanEdges(), 0.027},
                                         {"circle", 10, CircleEdges(10), 0.018},
                                         {"grid", 9, GridEdges(3), 0.026666},
                                         {"ladder", 10, LadderEdges(5, false), 0.026},
                                         {"circular_ladder", 10, LadderEdges(5, true), 0.03}};
  return motifs;
}

StatusOr<MotifSettings> ParseMotifSettings(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"motif", "train", "validation", "test", "seed"}));
  MotifSettings settings;
  INTERLACER_ASSIGN_OR_RETURN(settings.motif, object.Get<std::string>("motif"));
  INTERLACER_ASSIGN_OR_RETURN(settings.train_count, object.GetOr("train", settings.train_count));
  INTERLACER_ASSIGN_OR_RETURN(settings.validation_count,
                              object.GetOr("validation", settings.validation_count));
  INTERLACER_ASSIGN_OR_RETURN(settings.test_count, object.GetOr("test", settings.test_count));
  INTERLACER_ASSIGN_OR_RETURN(settings.seed, object.GetOr("seed", settings.seed));
  return settings;
}

nlohmann::ordered_json ToJson(const MotifSettings& settings) {
  return {{"motif", settings.motif},
          {"train", settings.train_count},
          {"validation", settings.validation_count},
          {"test", settings.test_count},
          {"seed", settings.seed}};
}

StatusOr<MotifSet> MotifSet::Make(const MotifSettings& settings) {
  if (FindMotif(settings.motif) == nullptr && settings.motif != kInducedCycle) {
    return Mismatch(reason::CONFIG_INVALID, "motif", "one of " + MotifNames(), settings.motif);
  }
  INTERLACER_RETURN_IF_ERROR(CheckCount("train", settings.train_count));
  INTERLACER_RETURN_IF_ERROR(CheckCount("validation", settings.validation_count));
  INTERLACER_RETURN_IF_ERROR(CheckCount("test", settings.test_count));
  return MotifSet(settings);
}

MotifSet::MotifSet(const MotifSettings& settings) : settings_(settings) {
  const Motif* const motif = FindMotif(settings.motif);  // none of induced cycles
  form_.feature_width = motif == nullptr ? 1 : kFeatureWidth;
  form_.has_graphs = true;
  const std::array counts{settings.train_count, settings.validation_count, settings.test_count};
  for (std::uint32_t split = 0; split < counts.size(); ++split) {
    std::vector<Example>& examples = examples_[split];
    for (std::int64_t pair = 0; pair < counts[split] / 2; ++pair) {
      RandomSequence random(settings.seed, RandomStream::kDataGeneration, split,
                            static_cast<std::uint32_t>(pair));
      if (motif == nullptr) {
        const CyclePair cycles = DrawCyclePair(&random);
        examples.push_back(ExampleOf({kCycleNodes, cycles.positive}, true, &StandardDegrees));
        examples.push_back(ExampleOf({kCycleNodes, cycles.negative}, false, &StandardDegrees));
        continue;
      }
      const SmallGraph small{motif->node_count, motif->edges};
      const SmallGraph big = ErdosRenyi(kBigNodes, motif->base_probability, &random);
      const SmallGraph other =
          RandomOfEdges(motif->node_count, static_cast<std::int64_t>(motif->edges.size()), &random);
      examples.push_back(ExampleOf(Join(small, big, &random), true, &NeighbourDegrees));
      examples.push_back(ExampleOf(Join(other, big, &random), false, &NeighbourDegrees));
    }
  }
}

std::int64_t MotifSet::size(LearningSplit split) const {
  return static_cast<std::int64_t>(examples_[static_cast<std::size_t>(split)].size());
}

Example MotifSet::At(LearningSplit split, std::int64_t index) const {
  return examples_[static_cast<std::size_t>(split)][static_cast<std::size_t>(index)];
}

std::string MotifSet::Description() const { return ToJson(settings_).dump(); }

}  // namespace interlacer
