#pragma once

/// One attention mechanism behind one interface, and what people read about it.
///
/// A Mechanism holds its options and nothing of a sequence: it may be used for inputs of any size.
/// Its methods get inputs that passed CheckInputs and parameters that are complete; callers use
/// core/attention.h, which sees to both. Randomness is a function of the option `seed`.
/// Errors: torch's and StatusException, which core/attention.h turns into Status.
/// Thread-safety: const methods may run together.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/attention/core/inputs.h"
#include "model/attention/core/options.h"
#include "model/attention/core/way.h"

namespace interlacer::attention {

class Mechanism {
 public:
  virtual ~Mechanism() = default;
  /// kDense first, then the one that is taken where neither lengths nor counts say otherwise.
  virtual std::vector<Way> Ways() const = 0;
  /// Tensors that can be learned or stored, such as coefficients and random projections.
  virtual NamedTensors InitialParameters(const AttentionInputs&) const { return {}; }
  /// [B,H,L,dv]. Rows of masked queries may hold anything finite.
  virtual torch::Tensor Run(Way way, const AttentionInputs& inputs) const = 0;
  /// The same by a way of the mechanism's choice, which may depend on a count of operations; `used`
  /// is written before anything else. Here the second of Ways(), or the only one.
  virtual torch::Tensor RunChosen(const AttentionInputs& inputs, Way* used) const;
  /// Whether the dense way takes parts of a graph that no edge joins one beside the other, and not
  /// all tokens against all.
  virtual bool IsDenseInBlocks() const { return false; }
  /// How many tokens it puts against each other: all, or those of the largest part.
  virtual std::int64_t DenseLength(const AttentionInputs& inputs) const { return inputs.length(); }
  /// The mask [1 or H,L,L], or [B,H,L,L] of queries and keys, if there is one apart from the
  /// scores; undefined otherwise.
  virtual torch::Tensor DenseMask(const AttentionInputs&) const { return {}; }
  /// The largest |f| that places add to the logits of a pair, padded ones too and with `causal` no
  /// later keys, [H] without gradient, or undefined where they add none.
  virtual torch::Tensor LargestPositionLogits(const AttentionInputs&) const { return {}; }
};

/// Up to how many tokens the dense way was measured to be clearly faster than every other, for
/// queries, keys and values of width 8 and 64; 0: at no length.
struct DenseLengths {
  std::int64_t width_8 = 0, width_64 = 0;
  /// Between both widths by powers of width and length, beyond them as at the nearer.
  double At(std::int64_t width) const;
};

struct MechanismInfo {
  std::string name;
  std::string text;                 ///< what it computes, in one or two lines
  std::string cost;                 ///< of time, in L, d, dv and the mechanism's own sizes
  std::string source;               ///< key of docs/papers.md and place
  std::vector<std::string> inputs;  ///< of kExtraInputs
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<const Mechanism>(const Options&)> make;
  /// Absent: not measured. Set by the catalogue.
  std::optional<DenseLengths> dense_up_to = std::nullopt;
  /// Whether Attention::PacksGraphs, with most options. Set by the catalogue.
  bool packs_graphs = false;
};

}  // namespace interlacer::attention
