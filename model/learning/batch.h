#pragma once

/// Examples of a set as tensors: padded to one length, with a mask of what is padding.
///
///   features [B,L,F] float32, 0 where padded   key_mask [B,L], 1 for a token and 0 for padding
///   targets  [B] int64 of classes, or [B,T] float32
/// Graphs and own positions of examples stay apart, unpadded; all graphs are also there as one.
/// Errors: StatusException INVALID_ARGUMENT SHAPE_MISMATCH, NOT_FINITE or ARGUMENT_INVALID at
/// "SPLIT[index].FIELD". Threads: pure functions.

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/attention/core/graph_memory.h"
#include "model/learning/example_set.h"

namespace interlacer {

struct Batch {
  torch::Tensor features, key_mask, targets;
  std::vector<std::int64_t> token_counts;
  std::vector<attention::GraphInput> graphs;  ///< one an example, or none at all
  std::vector<torch::Tensor> positions;       ///< the same
  attention::GraphInput joined_graph;  ///< the graphs one after the other, without edges between
  torch::Tensor token_rows;            ///< rows of [B L,F] that are tokens, int64
  std::vector<std::int64_t> grid;
  std::int64_t step = 0;  ///< of training, for what is redrawn

  std::int64_t size() const { return features.size(0); }
  /// Whether every example brings a structure of its own.
  bool IsApart() const { return !graphs.empty() || !positions.empty(); }
};

/// Of these examples of a split, padded to the longest of them or, if that is more, to
/// `padded_length`.
Batch MakeBatch(const ExampleSet& set, LearningSplit split, std::span<const std::int64_t> indices,
                std::int64_t padded_length = 0);

}  // namespace interlacer
