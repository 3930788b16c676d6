#pragma once

/// Motif detection: does a motif hang on a random graph, or a random graph of the motif's size? And
/// the task of a global property: does a graph's cycle have as many nodes as its tree allows
/// (induced_cycle.h)? Features are then the node's degree, less the mean of its graph and over its
/// deviation.
///
/// One Erdős-Rényi graph of 100 nodes serves a positive example, joined to the motif, and a
/// negative one, joined to a random graph with the motif's numbers of nodes and edges. The nodes of
/// the small graph come first. Features of a node are the five largest degrees of its neighbours,
/// descending, 0 where it has fewer. Nodes without edges are left out before joining. Even indices
/// are positive (class 1), odd ones negative (class 0) with the same big graph; splits share no
/// draw. A negative may hold the motif by chance (about once in 10^4 graphs); it stays negative.
/// Errors: INVALID_ARGUMENT CONFIG_INVALID naming the key. Threads: as ExampleSet.
/// Sizes and probabilities that the paper does not state are those of its code.
/// Source: gkat, Sec. 5.1.1 and 5.1.2.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.h"
#include "model/learning/example_set.h"

namespace interlacer {

/// Undirected, each edge once.
struct Motif {
  std::string name;
  std::int64_t node_count = 0;
  std::vector<std::array<std::int64_t, 2>> edges;
  double base_probability = 0;  ///< of an edge of the big graph
};
/// caveman, circle, grid, ladder, circular_ladder.
const std::vector<Motif>& Motifs();

inline constexpr std::string_view kInducedCycle = "induced_cycle";

struct MotifSettings {
  std::string motif = "caveman";  ///< of Motifs(), or kInducedCycle
  /// Graphs of each split, even: pairs of a positive and a negative one.
  std::int64_t train_count = 1536, validation_count = 512, test_count = 512;
  std::uint64_t seed = 0;
};
/// {"motif", "train", "validation", "test", "seed"}.
StatusOr<MotifSettings> ParseMotifSettings(const JsonObject& object);
nlohmann::ordered_json ToJson(const MotifSettings& settings);

class MotifSet : public ExampleSet {
 public:
  static StatusOr<MotifSet> Make(const MotifSettings& settings);

  const ExampleForm& form() const override { return form_; }
  std::int64_t size(LearningSplit split) const override;
  Example At(LearningSplit split, std::int64_t index) const override;
  std::string Description() const override;

 private:
  explicit MotifSet(const MotifSettings& settings);

  MotifSettings settings_;
  ExampleForm form_;
  std::array<std::vector<Example>, 3> examples_;  ///< by split
};

}  // namespace interlacer
