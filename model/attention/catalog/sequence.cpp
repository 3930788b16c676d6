// Linear attention over sequences: causal, padded, packed.

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/core/masked_attention.h"
#include "model/attention/masks/basic_masks.h"

namespace interlacer::attention {
namespace {

const std::vector<std::string> kSequenceScores{"relu", "elu1", "square", "favor_pos"};

/// Gates below have this logarithm, far below all rounding.
constexpr double kLeastGate = 1e-37;

/// Key j counts for row i >= j; with gates g, (1 - g_j) times the product of g over j < s <= i.
class Causal : public Mechanism {
 public:
  Causal(const Options& options, bool is_gated)
      : scores_(options), chunk_(options.Int("chunk")), is_gated_(is_gated) {}

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFeatures}; }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    return scores_.InitialParameters(inputs);
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    ScaledFeatures features = scores_.MakeScaledFeatures(inputs);
    const torch::Tensor gates = is_gated_ ? inputs.gates.unsqueeze(3) : torch::Tensor();
    if (is_gated_) features.k = features.k * (1 - gates);
    return way == Way::kDense ? RunDense(features, inputs.v, gates)
                              : RunChunks(features, inputs.v, gates);
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    if (is_gated_) return {};
    return at::tril(at::ones({1, inputs.length(), inputs.length()}, inputs.q.options()));
  }

 private:
  torch::Tensor RunDense(const ScaledFeatures& features, const torch::Tensor& v,
                         const torch::Tensor& gates) const {
    // Each row against the largest scale that it sees.
    const torch::Tensor largest = std::get<0>(at::cummax(features.log_scale, 2));
    const torch::Tensor scale =
        at::exp((features.log_scale.transpose(2, 3) - largest).clamp_max(0));
    const torch::Tensor weights =
        at::tril(at::matmul(features.q, features.k.transpose(2, 3)) * scale);
    return AttendByWeights(is_gated_ ? weights * ProductsOfGates(gates) : weights, v,
                           features.delta);
  }

  /// [B,H,L,L], row after row.
  static torch::Tensor ProductsOfGates(const torch::Tensor& gates) {
    const std::int64_t length = gates.size(2);
    torch::Tensor row = at::zeros({gates.size(0), gates.size(1), length}, gates.options());
    const torch::Tensor unit = at::eye(length, gates.options().requires_grad(false));
    std::vector<torch::Tensor> rows;
    for (std::int64_t i = 0; i < length; ++i) {
      row = row * gates.slice(2, i, i + 1).squeeze(3) + unit[i];
      rows.push_back(row);
    }
    return at::stack(rows, 2);
  }

  torch::Tensor RunChunks(const ScaledFeatures& features, const torch::Tensor& v,
                          const torch::Tensor& gates) const {
    const std::int64_t length = v.size(2);
    const torch::Tensor values = at::cat({v, at::ones_like(v.slice(3, 0, 1))}, 3);
    // The sum over keys of earlier chunks, divided by exp(state_scale).
    torch::Tensor state = at::zeros({v.size(0), v.size(1), features.k.size(3), values.size(3)},
                                    v.options().requires_grad(false));
    torch::Tensor state_scale = features.log_scale.slice(2, 0, 1);
    std::vector<torch::Tensor> parts;
    for (std::int64_t first = 0; first < length; first += chunk_) {
      const std::int64_t last = std::min(length, first + chunk_);
      const auto part = [&](const torch::Tensor& x) { return x.slice(2, first, last); };
      const torch::Tensor q = part(features.q), k = part(features.k), own = part(values);
      const torch::Tensor key_scale = part(features.log_scale);
      // No row sees the scale of a later key, so that its bits do not depend on it.
      const torch::Tensor row_scale =
          std::get<0>(at::cummax(at::cat({state_scale, key_scale}, 2), 2)).slice(2, 1);
      const torch::Tensor fall =
          is_gated_ ? at::cumsum(at::log(part(gates).clamp_min(kLeastGate)).to(at::kDouble), 2)
                    : at::zeros_like(row_scale, at::kDouble);
      const torch::Tensor is_later =
          at::ones({last - first, last - first}, at::TensorOptions().dtype(at::kBool)).triu(1);
      const torch::Tensor between =
          (key_scale.transpose(2, 3) - row_scale + fall - fall.transpose(2, 3))
              .masked_fill(is_later, -std::numeric_limits<double>::infinity());
      const torch::Tensor weights =
          at::matmul(q, k.transpose(2, 3)) * at::exp(between).to(q.scalar_type());
      const torch::Tensor of_state = at::exp(state_scale - row_scale + fall).to(q.scalar_type());
      parts.push_back(at::matmul(weights, own) + at::matmul(q, state) * of_state);

      const torch::Tensor end_scale = row_scale.slice(2, -1), end_fall = fall.slice(2, -1);
      const torch::Tensor of_keys =
          at::exp(key_scale - end_scale + end_fall - fall).to(q.scalar_type());
      state = state * at::exp(state_scale - end_scale + end_fall).to(q.scalar_type()) +
              at::matmul((k * of_keys).transpose(2, 3), own);
      state_scale = end_scale;
    }
    const torch::Tensor sums = at::cat(parts, 2);
    return Normalised(sums.slice(3, 0, -1), sums.slice(3, -1), features.delta);
  }

  Scores scores_;
  std::int64_t chunk_;
  bool is_gated_;
};

MechanismInfo CausalInfo(std::string name, std::string text, std::string source,
                         const std::vector<std::string>& kinds, bool is_gated) {
  MechanismInfo info{
      std::move(name),
      std::move(text),
      "O(L m (dv + chunk)) and memory O(L m + m dv + chunk^2) beside inputs and output",
      std::move(source),
      {},
      Joined({Integer("chunk", 64, 1, 4096, "tokens of a step")}, ScoreOptions(kinds)),
      nullptr};
  if (is_gated) info.inputs = {"gates"};
  info.make = [is_gated](const Options& options) {
    return std::make_unique<const Causal>(options, is_gated);
  };
  return info;
}

class Padded : public Mechanism {
 public:
  explicit Padded(const Options& options) : scores_(options) {}
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFeatures}; }
  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    return scores_.InitialParameters(inputs);
  }
  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    return Attend(way, scores_, inputs, nullptr);
  }

 private:
  Scores scores_;
};

}  // namespace

std::vector<MechanismInfo> SequenceMechanisms() {
  return {
      CausalInfo("linear_causal",
                 "Linear attention in which a token sees itself and those before it. favor_pos has "
                 "no epsilon here, so that no token depends on later ones.",
                 "linear-attention, Eq. 8; gkat, Sec. 3.1", kSequenceScores, false),
      CausalInfo("rfa_gated",
                 "Causal random feature attention that forgets: S_i = g_i S_{i-1} + (1 - g_i) "
                 "phi(k_i) v_i^T with gates g of the input.",
                 "flt, Sec. 4 (baselines)",
                 {"rfa_arccos", "rfa_gaussian", "relu", "elu1", "square"}, true),
      {"padding",
       "Linear attention over sequences of unequal length: key_mask says which tokens are there. "
       "All other mechanisms take it too.",
       "O(L m dv)",
       "gkat, Sec. 3.1",
       {},
       ScoreOptions(kSequenceScores),
       [](const Options& options) { return std::make_unique<const Padded>(options); }},
      Masked({"packing",
              "Several sequences in one: tokens see those of their own segment.",
              "O(L m dv)",
              "gkat, Sec. 3.1",
              {"segments"},
              {},
              nullptr},
             {AlwaysWays({Way::kDense, Way::kFastmult, Way::kFeatures}), nullptr,
              [](const Options&, const AttentionInputs& inputs) {
                return MakeSegmentMask(inputs.segments, inputs.q);
              }}),
  };
}

}  // namespace interlacer::attention
