// Linear attention over sequences: causal, padded, packed.

#include <ATen/Functions.h>

#include <cmath>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/core/causal.h"
#include "model/attention/core/masked_attention.h"
#include "model/attention/masks/basic_masks.h"

namespace interlacer::attention {
namespace {

const std::vector<std::string> kSequenceScores{"relu", "elu1", "square", "favor_pos"};
const std::vector<std::string> kGatedScores{"rfa_arccos", "rfa_gaussian", "relu", "elu1", "square"};

enum class Gating { kNone, kGiven, kOfTokens };

/// Key j counts for row i >= j; with gates g, (1 - g_j) times the product of g over j < s <= i.
class Causal : public Mechanism {
 public:
  Causal(const Options& options, Gating gating)
      : options_(options), scores_(options), chunk_(options.Int("chunk")), gating_(gating) {}

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFeatures}; }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    NamedTensors parameters = scores_.InitialParameters(inputs);
    if (gating_ != Gating::kOfTokens) return parameters;
    // All tokens start with the same gate.
    const double gate = options_.Real("gate");
    parameters["gate_weight"] =
        at::zeros({inputs.heads(), 2 * inputs.width() + inputs.value_width()},
                  inputs.q.options().requires_grad(false));
    parameters["gate_bias"] = PerHead(inputs, std::log(gate / (1 - gate)));
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const torch::Tensor gates = GatesOf(inputs);
    const auto features_of = [&](std::int64_t first, std::int64_t last) {
      ScaledFeatures features = scores_.MakeScaledFeatures(inputs.Between(first, last));
      if (gates.defined()) features.k = features.k * (1 - gates.slice(2, first, last));
      return features;
    };
    return way == Way::kDense ? AttendCausally(features_of(0, inputs.length()), inputs.v, gates)
                              : AttendCausallyByChunks(features_of, inputs.v, gates, chunk_);
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    return gating_ == Gating::kNone ? CausalMask(inputs) : torch::Tensor();
  }

 private:
  /// [B,H,L,1], or undefined.
  torch::Tensor GatesOf(const AttentionInputs& inputs) const {
    if (gating_ == Gating::kNone) return {};
    if (gating_ == Gating::kGiven) return inputs.gates.unsqueeze(3);
    const torch::Tensor token = at::cat({inputs.q, inputs.k, inputs.v}, 3);
    const torch::Tensor gates =
        at::sigmoid(at::matmul(token, inputs.parameters.at("gate_weight").unsqueeze(2)) +
                    inputs.parameters.at("gate_bias").reshape({-1, 1, 1}));
    // Padding is no reason to forget.
    return gates.masked_fill(inputs.KeyMask() == 0, 1);
  }

  Options options_;
  Scores scores_;
  std::int64_t chunk_;
  Gating gating_;
};

MechanismInfo CausalInfo(std::string name, std::string text, std::string source,
                         const std::vector<std::string>& kinds, Gating gating) {
  MechanismInfo info{
      std::move(name),
      std::move(text),
      "O(L m (dv + chunk)) and memory O(m dv + chunk (m + chunk)) beside inputs and output",
      std::move(source),
      {},
      Joined({ChunkOption()}, ScoreOptions(kinds)),
      nullptr};
  if (gating == Gating::kGiven) info.inputs = {"gates"};
  if (gating == Gating::kOfTokens) {
    info.options.push_back(Number("gate", 0.9, 1e-3, 0.999, "initial gate of all tokens"));
  }
  info.make = [gating](const Options& options) {
    return std::make_unique<const Causal>(options, gating);
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
                 "linear-attention, Eq. 8; gkat, Sec. 3 (causal attention)", kSequenceScores,
                 Gating::kNone),
      CausalInfo("rfa_gated",
                 "Causal random feature attention that forgets: S_i = g_i S_{i-1} + (1 - g_i) "
                 "phi(k_i) v_i^T with gates g of the input.",
                 "flt, Sec. 4 (baselines)", kGatedScores, Gating::kGiven),
      CausalInfo("rfa_self_gated",
                 "rfa_gated with gates of the tokens themselves, a learned layer: g_i = "
                 "sigmoid(gate_weight [q_i, k_i, v_i] + gate_bias), and 1 of padding.",
                 "flt, Sec. 4 (baselines)", kGatedScores, Gating::kOfTokens),
      {"padding",
       "Linear attention over sequences of unequal length: key_mask says which tokens are there. "
       "All other mechanisms take it too.",
       "O(L m dv)",
       "gkat, Sec. 3 (packing and padding)",
       {},
       ScoreOptions(kSequenceScores),
       [](const Options& options) { return std::make_unique<const Padded>(options); }},
      Masked({"packing",
              "Several sequences in one: tokens see those of their own segment.",
              "O(L m dv)",
              "gkat, Sec. 3 (packing and padding)",
              {"segments"},
              {},
              nullptr},
             {AlwaysWays({Way::kDense, Way::kFeatures, Way::kFastmult}), nullptr,
              [](const Options&, const AttentionInputs& inputs) {
                return MakeSegmentMask(inputs.segments, inputs.q);
              }}),
  };
}

}  // namespace interlacer::attention
