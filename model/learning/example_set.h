#pragma once

/// What a learner is trained and tested on: examples of tokens with a class or numbers as target.
///
/// Images are sets with a grid, sequences are sets with a grid of one side or with places, and
/// graphs bring one graph an example; another kind of data is another subclass. Free of LibTorch.
/// At is a function of its arguments alone. Threads: const methods may run together.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/attention/files/edge_lists.h"

namespace interlacer {

enum class LearningTask { kClassification, kRegression };
enum class LearningSplit { kTrain, kValidation, kTest };

std::string_view SplitName(LearningSplit split);

struct Example {
  std::int64_t token_count = 0;
  std::vector<float> features;   ///< [token_count,feature_width], row-major
  std::vector<double> target;    ///< the class, or target_width numbers
  attention::EdgeLists graph;    ///< of token_count nodes, in sets with graphs
  std::vector<float> positions;  ///< [token_count,position_width], in sets with own positions
};

/// What the examples of a set have in common.
struct ExampleForm {
  LearningTask task = LearningTask::kClassification;
  std::int64_t feature_width = 1;
  std::int64_t target_width = 2;  ///< classes, or numbers of a target
  bool has_graphs = false;
  std::int64_t position_width = 0;
  /// Sides of the grid that the tokens of every example lie on, in row-major order; none if empty.
  std::vector<std::int64_t> grid;
};

class ExampleSet {
 public:
  virtual ~ExampleSet() = default;
  virtual const ExampleForm& form() const = 0;
  virtual std::int64_t size(LearningSplit split) const = 0;
  /// `index` in [0, size(split)).
  virtual Example At(LearningSplit split, std::int64_t index) const = 0;
  /// A JSON object that tells this set from others; a run is resumed with the same alone.
  virtual std::string Description() const = 0;
};

}  // namespace interlacer
