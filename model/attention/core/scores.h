#pragma once

/// Scores A of queries and keys: the exponential of softmax, or products of feature maps.
///
///   relu: ReLU(x) + epsilon   elu1: elu(x) + 1   square: x^2 + epsilon, each of x or, with
///   proj_dim > 0, of x projected by random rows   softmax: exp(q k / sqrt d), without features
///   favor_pos: m^-1/2 exp(w x - |x|^2 / 2) of x d^-1/4, whose mean product is exp(q k / sqrt d)
///   rfa_gaussian: m^-1/2 [cos w x, sin w x] of x / |x|
///   rfa_arccos: m^-1/2 ReLU(w x), with l2_normalise of x / |x|
/// favor_pos divides queries by the largest feature of their row, keys by one for a head, both of
/// which cancel, and adds epsilon_favor to what results. Features are [B,H,L,m], those of masked
/// keys 0. rfa_gaussian has negative features: its sums of scores may be 0 or below.
/// Errors: torch's, and StatusException CONFIG_INVALID at "options.features" for an odd number of
/// features that come in pairs. Thread-safety: const. Source: performer, Lemma 1 and Sec. 2.4;
/// linear-attention, Eq. 7; flt, Sec. 4 (baselines); grf-masking, Sec. 2.

#include <torch/types.h>

#include <string>
#include <vector>

#include "model/attention/core/inputs.h"
#include "model/attention/core/options.h"

namespace interlacer::attention {

struct Features {
  torch::Tensor q, k;
  double delta = 0;  ///< added to sums of scores
};

/// Keys with a scale of their own: phi(k_j) = k_j exp(log_scale_j). Needs no other key.
struct ScaledFeatures {
  torch::Tensor q, k, log_scale;  ///< log_scale [B,H,L,1]
  double delta = 0;
};

/// The options of scores; `kinds` are the choices of option "score", the first is the default. With
/// one kind there is no such option.
std::vector<OptionSpec> ScoreOptions(const std::vector<std::string>& kinds);

class Scores {
 public:
  Scores(const Options& options, const std::string& only_kind = "");

  const std::string& kind() const { return kind_; }
  double delta() const { return delta_; }
  bool has_features() const { return kind_ != "softmax"; }
  /// Number m of features of q and k of this width.
  std::int64_t FeatureCount(std::int64_t width) const;
  /// "omega" [H,m,d] where features are random.
  NamedTensors InitialParameters(const AttentionInputs& inputs, std::int64_t width) const;
  NamedTensors InitialParameters(const AttentionInputs& inputs) const {
    return InitialParameters(inputs, inputs.width());
  }
  Features MakeFeatures(const AttentionInputs& inputs) const {
    return MakeFeatures(inputs, inputs.q, inputs.k, true);
  }
  /// Of other q and k. `is_scaled`: by d^-1/4 first, which favor_pos does.
  Features MakeFeatures(const AttentionInputs& inputs, const torch::Tensor& q,
                        const torch::Tensor& k, bool is_scaled) const;
  ScaledFeatures MakeScaledFeatures(const AttentionInputs& inputs) const {
    return MakeScaledFeatures(inputs, inputs.q, inputs.k, true);
  }
  ScaledFeatures MakeScaledFeatures(const AttentionInputs& inputs, const torch::Tensor& q,
                                    const torch::Tensor& k, bool is_scaled) const;

 private:
  /// A projection gives two features.
  bool HasPairs() const;
  torch::Tensor LogFavor(const torch::Tensor& x, const torch::Tensor& omega, bool is_scaled) const;
  torch::Tensor Map(const torch::Tensor& x, const NamedTensors& parameters) const;

  Options options_;
  std::string kind_;
  double epsilon_, epsilon_favor_, delta_;
  std::int64_t feature_count_, projection_;
  bool is_orthogonal_, is_hyperbolic_, is_normalised_;
};

/// Q K^T / sqrt d: [B,H,L,L].
torch::Tensor Logits(const AttentionInputs& inputs);

}  // namespace interlacer::attention
