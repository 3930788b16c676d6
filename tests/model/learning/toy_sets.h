#pragma once

/// Small sets of examples whose targets are known functions of their tokens.

#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"
#include "model/learning/example_set.h"
#include "model/learning/learning_config.h"

namespace interlacer {

enum class ToyKind { kGraph, kGrid, kSequence };

/// The target says whether the tokens' features are above or below 0 on average (classification),
/// or what twice that average is (regression). Graphs and sequences have 3 to 6 tokens, grids 2x3.
class ToySet : public ExampleSet {
 public:
  ToySet(ToyKind kind, LearningTask task) : kind_(kind) {
    form_.task = task;
    form_.feature_width = 2;
    form_.target_width = task == LearningTask::kClassification ? 2 : 1;
    form_.has_graphs = kind == ToyKind::kGraph;
    if (kind == ToyKind::kGrid) form_.grid = {2, 3};
  }

  const ExampleForm& form() const override { return form_; }
  std::int64_t size(LearningSplit split) const override {
    return split == LearningSplit::kTrain ? 64 : 32;
  }
  std::string Description() const override { return R"({"toy": true})"; }

  Example At(LearningSplit split, std::int64_t index) const override {
    RandomSequence random(7, RandomStream::kDataGeneration, static_cast<std::uint32_t>(split),
                          static_cast<std::uint32_t>(index));
    Example example;
    example.token_count = kind_ == ToyKind::kGrid ? 6 : 3 + random.Below(4);
    const double level = random.Uniform(0.3, 1) * (index % 2 == 0 ? 1 : -1);
    double sum = 0;
    for (std::int64_t i = 0; i < example.token_count; ++i) {
      const double value = level + 0.1 * random.Normal();
      sum += value;
      example.features.push_back(static_cast<float>(value));
      example.features.push_back(static_cast<float>(random.Normal()));
    }
    const double mean = sum / static_cast<double>(example.token_count);
    const bool is_class = form_.task == LearningTask::kClassification;
    example.target = {is_class ? (mean > 0 ? 1.0 : 0.0) : 2 * mean};
    if (form_.has_graphs) {
      const std::int64_t n = example.token_count;
      for (std::int64_t i = 0; i < n; ++i) {
        if (i > 0) example.graph.neighbors.push_back(i - 1);
        if (i + 1 < n) example.graph.neighbors.push_back(i + 1);
        example.graph.offsets.push_back(static_cast<std::int64_t>(example.graph.neighbors.size()));
      }
    }
    return example;
  }

 private:
  ToyKind kind_;
  ExampleForm form_;
};

inline AttentionLayerConfig ToyLayer(const std::string& mechanism,
                                     const std::string& options = "{}") {
  AttentionLayerConfig layer;
  layer.mechanism = mechanism;
  layer.options = options;
  layer.head_count = 2;
  layer.head_width = 4;
  return layer;
}

}  // namespace interlacer
