// Linear attention over sequences: causal, padded, packed.

#include <ATen/Functions.h>

#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/core/causal.h"
#include "model/attention/core/masked_attention.h"
#include "model/attention/masks/basic_masks.h"

namespace interlacer::attention {
namespace {

const std::vector<std::string> kSequenceScores{"relu", "elu1", "square", "favor_pos"};

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
    return way == Way::kDense ? AttendCausally(features, inputs.v, gates)
                              : AttendCausallyByChunks(features, inputs.v, gates, chunk_);
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    if (is_gated_) return {};
    return CausalMask(inputs);
  }

 private:
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
      Joined({ChunkOption()}, ScoreOptions(kinds)),
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
