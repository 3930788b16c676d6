#include "model/learning/batch.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "common/number_text.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

torch::Tensor Copied(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

attention::GraphInput Joined(const std::vector<Example>& examples) {
  std::vector<std::int64_t> offsets{0}, neighbors;
  std::int64_t first = 0;
  for (const Example& example : examples) {
    const auto edges = static_cast<std::int64_t>(neighbors.size());
    for (std::size_t i = 1; i < example.graph.offsets.size(); ++i) {
      offsets.push_back(edges + example.graph.offsets[i]);
    }
    for (const std::int64_t neighbor : example.graph.neighbors) {
      neighbors.push_back(first + neighbor);
    }
    first += example.token_count;
  }
  return {Copied(offsets), Copied(neighbors), torch::Tensor()};
}

template <typename T>
void RequireSize(const std::vector<T>& values, std::int64_t expected, const std::string& field) {
  if (static_cast<std::int64_t>(values.size()) != expected) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, field,
                                   std::to_string(expected) + " numbers",
                                   std::to_string(values.size())));
  }
  for (const T value : values) {
    if (std::isfinite(static_cast<float>(value))) continue;
    throw StatusException(
        Mismatch(reason::NOT_FINITE, field, "finite numbers of float32", "a number that is not"));
  }
}

/// Of one graph: an edge that leaves it would lead into another of the batch.
void CheckEdges(const attention::EdgeLists& graph, const std::string& field) {
  const auto& offsets = graph.offsets;
  const auto count = static_cast<std::int64_t>(graph.neighbors.size());
  if (offsets.front() != 0 || offsets.back() != count ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, field + ".offsets",
                                   "ascending numbers from 0 to " + std::to_string(count),
                                   "others"));
  }
  for (const std::int64_t neighbor : graph.neighbors) {
    if (neighbor >= 0 && neighbor < graph.size()) continue;
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, field + ".neighbors",
                                   "numbers from 0 to " + std::to_string(graph.size() - 1),
                                   std::to_string(neighbor)));
  }
}

void CheckExample(const Example& example, const ExampleForm& form, const std::string& name) {
  const std::int64_t tokens = example.token_count;
  std::int64_t expected = std::max<std::int64_t>(tokens, 1);
  if (!form.grid.empty()) {
    expected = 1;
    for (const std::int64_t side : form.grid) expected *= side;
  }
  if (tokens != expected) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, name + ".token_count",
                                   form.grid.empty() ? "1 or more" : std::to_string(expected),
                                   std::to_string(tokens)));
  }
  RequireSize(example.features, tokens * form.feature_width, name + ".features");
  RequireSize(example.positions, tokens * form.position_width, name + ".positions");
  const bool is_class = form.task == LearningTask::kClassification;
  RequireSize(example.target, is_class ? 1 : form.target_width, name + ".target");
  const double target = example.target[0];
  const auto class_count = static_cast<double>(form.target_width);
  if (is_class && (target < 0 || target >= class_count || target != std::floor(target))) {
    throw StatusException(Mismatch(reason::ARGUMENT_INVALID, name + ".target",
                                   "a class below " + std::to_string(form.target_width),
                                   NumberText(target)));
  }
  const std::int64_t nodes = example.graph.size(), wanted = form.has_graphs ? tokens : 0;
  if (nodes != wanted) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, name + ".graph",
                                   std::to_string(wanted) + " nodes", std::to_string(nodes)));
  }
  if (form.has_graphs) CheckEdges(example.graph, name + ".graph");
}

}  // namespace

std::string_view SplitName(LearningSplit split) {
  return split == LearningSplit::kTrain        ? "train"
         : split == LearningSplit::kValidation ? "validation"
                                               : "test";
}

Batch MakeBatch(const ExampleSet& set, LearningSplit split, std::span<const std::int64_t> indices,
                std::int64_t padded_length) {
  const ExampleForm& form = set.form();
  std::vector<Example> examples;
  std::int64_t length = padded_length;
  for (const std::int64_t index : indices) {
    examples.push_back(set.At(split, index));
    CheckExample(examples.back(), form,
                 std::string(SplitName(split)) + "[" + std::to_string(index) + "]");
    length = std::max(length, examples.back().token_count);
  }
  const auto count = static_cast<std::int64_t>(examples.size());
  Batch batch;
  batch.grid = form.grid;
  batch.features = at::zeros({count, length, form.feature_width});
  batch.key_mask = at::zeros({count, length});
  std::vector<double> targets;
  for (std::int64_t i = 0; i < count; ++i) {
    const Example& example = examples[static_cast<std::size_t>(i)];
    const std::int64_t tokens = example.token_count;
    batch.token_counts.push_back(tokens);
    batch.features[i]
        .narrow(0, 0, tokens)
        .copy_(at::tensor(example.features).view({tokens, form.feature_width}));
    batch.key_mask[i].narrow(0, 0, tokens).fill_(1);
    targets.insert(targets.end(), example.target.begin(), example.target.end());
    if (form.has_graphs) {
      batch.graphs.push_back(
          {Copied(example.graph.offsets), Copied(example.graph.neighbors), torch::Tensor()});
    }
    if (form.position_width > 0) {
      batch.positions.push_back(at::tensor(example.positions).view({tokens, form.position_width}));
    }
  }
  batch.token_rows = at::nonzero(batch.key_mask.flatten()).flatten();
  if (form.has_graphs) batch.joined_graph = Joined(examples);
  const torch::Tensor all = at::tensor(targets, at::kDouble);
  batch.targets = form.task == LearningTask::kClassification
                      ? all.to(at::kLong)
                      : all.to(at::kFloat).view({count, form.target_width});
  return batch;
}

}  // namespace interlacer
