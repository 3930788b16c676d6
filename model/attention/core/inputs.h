#pragma once

/// What an attention mechanism reads, and the checks of it.
///
///   q, k [B,H,L,d]   v [B,H,L,dv]   float32 or float64, one type for all, on the CPU
///   key_mask [B,L]   1 keeps a token, 0 is padding: such keys have no weight, such rows return 0
///   graph            CSR: offsets [L+1] and neighbors [E] of int64; weights [E], or none
///   grid             n_1 ... n_D with product L, tokens in row-major order
///   positions [L,l]  places in space or time, in the units that the options assume
///   segments [L]     int64 ids >= 0, equal for tokens of one sequence
///   tree             parents [L] of int64, -1 at roots; weights [L] of the edges to the parents, 1
///                    if none
///   mask [L,L] or [H,L,L]   a mask given entry by entry, finite and >= 0 unless it is added
///   gates [B,H,L]    in [0,1]
///   step             number >= 0 of a training step, which what is redrawn depends on
///   parameters       tensors by name in place of a mechanism's initial ones
/// Class tokens come first and have no place: with n of them graph, grid, positions, segments and
/// tree are of the L - n tokens after them.
/// A mechanism says which of these it needs; what it does not need it ignores.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH, NOT_FINITE or SCHEMA_INVALID at the input's name.
/// Thread-safety: tensors are only read.

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "model/attention/core/graph_memory.h"

namespace interlacer::attention {

using NamedTensors = std::map<std::string, torch::Tensor>;

struct TreeInput {
  torch::Tensor parents, weights;
};

struct AttentionInputs {
  torch::Tensor q, k, v;
  torch::Tensor key_mask;
  GraphInput graph;
  std::vector<std::int64_t> grid;
  torch::Tensor positions;
  torch::Tensor segments;
  TreeInput tree;
  torch::Tensor mask;
  torch::Tensor gates;
  std::int64_t step = 0;
  NamedTensors parameters;
  /// Attention puts its own here; null: nothing is kept.
  std::shared_ptr<GraphMemory> memory;

  std::int64_t batch() const { return q.size(0); }
  std::int64_t heads() const { return q.size(1); }
  std::int64_t length() const { return q.size(2); }
  std::int64_t width() const { return q.size(3); }
  std::int64_t value_width() const { return v.size(3); }
  /// [B,1,L,1] of q's type; all ones without a key mask.
  torch::Tensor KeyMask() const;
  /// The same with the tokens from `first` to before `last` alone of q, k, v and key_mask.
  AttentionInputs Between(std::int64_t first, std::int64_t last) const;
  /// The same without the first `class_tokens` of them.
  AttentionInputs Placed(std::int64_t class_tokens) const {
    return class_tokens == 0 ? *this : Between(class_tokens, length());
  }
};

/// Names of the inputs beside q, k, v, key_mask and parameters, as mechanisms ask for them.
inline constexpr const char* kExtraInputs[] = {"graph", "grid", "positions", "segments",
                                               "tree",  "mask", "gates"};

/// Checks the shapes, types and values of everything that is there, and that everything in `needed`
/// is. Reads each tensor once. With class tokens INVALID_ARGUMENT CONFIG_INVALID at
/// "options.class_tokens" unless there are fewer of them than of all.
Status CheckInputs(const AttentionInputs& inputs, const std::vector<std::string>& needed,
                   std::int64_t class_tokens = 0);

}  // namespace interlacer::attention
