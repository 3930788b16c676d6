#pragma once

/// Attention by a mechanism of one's choice: out = D^-1 (M * A) V with D the row sums of M * A.
///
/// A_ij >= 0 is the score of query i and key j, M the mask, * the product entry by entry. Shapes of
/// inputs: core/inputs.h; out is [B,H,L,dv] of q's type. Rows whose weights are all zero, and rows
/// of masked queries, are 0. Empty batches and sequences give empty results. Gradients flow to q,
/// k, v, parameters, and to weights of edges, gates, masks and
/// positions. Equal inputs, options and parameters give equal results. Errors: those of
/// CheckInputs and Options; INVALID_ARGUMENT CONFIG_INVALID at "way" for a way that the mechanism
/// lacks; SHAPE_MISMATCH or SCHEMA_INVALID at "parameters.NAME"; NOT_FINITE at "out" where finite
/// inputs overflow; RESOURCE_EXHAUSTED for lack of memory. Thread-safety: const methods may run
/// together.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "model/attention/core/mechanism.h"

namespace interlacer::attention {

/// B H L^2 of a dense way that nobody asked for: 64 MiB of float32 for every array of that size.
inline constexpr std::int64_t kMaxChosenDenseWeights = std::int64_t{1} << 24;

class Attention {
 public:
  /// `options`: a JSON object with any of the mechanism's options.
  static StatusOr<Attention> Make(const MechanismInfo& mechanism, const nlohmann::json& options);

  const MechanismInfo& mechanism() const { return *info_; }
  const Options& options() const { return options_; }
  std::vector<Way> Ways() const { return mechanism_->Ways(); }
  /// Whether later runs on a graph reuse what the first one made of it.
  bool keeps_graph_memory() const { return memory_ != nullptr; }

  /// Whether several graphs can be given as one, without edges between them: each gets what it gets
  /// alone, to rounding, and by this way all cost about what they cost one by one.
  bool PacksGraphs(std::optional<Way> way = std::nullopt) const;

  /// Tensors by name; they depend on sizes, graph and options, not on q, k and v.
  StatusOr<NamedTensors> InitialParameters(const AttentionInputs& inputs) const;
  /// One of them: that of the inputs, checked, or the initial one. A name that there is.
  StatusOr<torch::Tensor> Parameter(const AttentionInputs& inputs, const std::string& name) const;
  /// Without a way: dense up to the lengths of MechanismInfo::dense_up_to, where the weights of all
  /// batches and heads are at most kMaxChosenDenseWeights; else that of Mechanism::RunChosen, and
  /// dense where that is pairs and has too many of them, unless `dense_instead` forbids it
  /// (RESOURCE_EXHAUSTED). `used`, if given, is the way that was taken. The choice depends on
  /// shapes, options and the graph alone. Absent parameters take their initial values.
  StatusOr<torch::Tensor> Run(const AttentionInputs& inputs, std::optional<Way> way = std::nullopt,
                              Way* used = nullptr, bool dense_instead = true) const;
  /// [1 or H,L,L] or [B,H,L,L], or an undefined tensor where scores and mask are one.
  StatusOr<torch::Tensor> DenseMask(const AttentionInputs& inputs) const;
  /// The largest |f| that places add to the logits of a pair of tokens, by head: [H] without
  /// gradient, or an undefined tensor where they add none. O(L^2 r), memory O(L).
  StatusOr<torch::Tensor> LargestPositionLogits(const AttentionInputs& inputs) const;

 private:
  Attention(const MechanismInfo& info, Options options);
  /// Whether dense is the faster way by measurement, and small.
  bool IsFasterDense(const AttentionInputs& inputs) const;
  /// Inputs that passed CheckInputs, with all parameters.
  StatusOr<AttentionInputs> Completed(const AttentionInputs& inputs) const;
  /// Of the option class_tokens; 0 without it.
  std::int64_t ClassTokens() const;

  const MechanismInfo* info_;
  Options options_;
  std::shared_ptr<const Mechanism> mechanism_;
  std::shared_ptr<GraphMemory> memory_;  ///< with the option keep_walks or keep_powers
};

}  // namespace interlacer::attention
