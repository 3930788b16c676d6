#pragma once

/// Mechanisms that are scores times a mask: what they are made of, and tools for their parameters.
///
/// Thread-safety: pure functions. Source: gkat, Alg. 1.

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "model/attention/core/masked_attention.h"
#include "model/attention/core/mechanism.h"

namespace interlacer::attention {

/// Inputs are those of the placed tokens, without class tokens.
struct MaskedParts {
  /// What the mask offers with these options, kDense first.
  std::function<std::vector<Way>(const Options&)> ways;
  /// Null: none.
  std::function<NamedTensors(const Options&, const AttentionInputs&)> parameters;
  std::function<MaskPtr(const Options&, const AttentionInputs&)> mask;
  /// Of the output; null: nothing more is done to it.
  std::function<torch::Tensor(const Options&, const torch::Tensor&)> finish = nullptr;
  /// Throws where options do not fit each other; null: all do.
  std::function<void(const Options&)> check = nullptr;
};

/// Scores that every masked mechanism may take; softmax goes with dense and pairs alone.
inline const std::vector<std::string> kMaskedScores{"relu", "elu1", "square", "favor_pos",
                                                    "softmax"};

/// `info` without options of scores and without `make`; both are added. `kinds` as ScoreOptions.
MechanismInfo Masked(MechanismInfo info, MaskedParts parts,
                     const std::vector<std::string>& kinds = kMaskedScores);

inline std::function<std::vector<Way>(const Options&)> AlwaysWays(std::vector<Way> ways) {
  return [ways = std::move(ways)](const Options&) { return ways; };
}

/// Tokens that come first and have no place, which masks let through.
OptionSpec ClassTokensOption();
/// StatusException CONFIG_INVALID at "options.class_tokens" where `causal` is set beside them.
void RefuseCausalClassTokens(const Options& options);
inline std::int64_t ClassTokensOf(const Options& options) { return options.Int("class_tokens"); }

/// Degrees that graphs without weights are normalised by: those of MaskGraphOf.
OptionSpec DegreesOption();

/// A parameter that starts with the same values in every head: [H] or [H,n], of q's type.
torch::Tensor PerHead(const AttentionInputs& inputs, double value);
torch::Tensor PerHead(const AttentionInputs& inputs, const std::vector<double>& values);

/// Option "positivity" and what it does to a parameter: abs, exp, softplus or none.
OptionSpec PositivityOption(const std::string& first);
torch::Tensor Positive(const Options& options, const torch::Tensor& parameter);
/// The parameter whose Positive is `value`.
double BeforePositive(const Options& options, double value);
/// The number whose softplus is x > 0.
double BeforeSoftplus(double x);

}  // namespace interlacer::attention
