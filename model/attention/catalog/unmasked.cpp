// Softmax and linear attention without a mask of their own.

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/core/masked_attention.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

class Softmax : public Mechanism {
 public:
  explicit Softmax(const Options& options)
      : is_scaled_(options.IsSet("scale")), delta_(options.Real("delta")) {}
  std::vector<Way> Ways() const override { return {Way::kDense}; }
  torch::Tensor Run(Way, const AttentionInputs& inputs) const override {
    const double undo = is_scaled_ ? 1 : std::sqrt(static_cast<double>(inputs.width()));
    return AttendByLogits(Logits(inputs) * undo, inputs, {}, delta_);
  }

 private:
  bool is_scaled_;
  double delta_;
};

class MaskedSoftmax : public Mechanism {
 public:
  explicit MaskedSoftmax(const Options& options)
      : is_additive_(options.Is("mask_into_logits", "additive")),
        floor_(options.Real("floor")),
        delta_(options.Real("delta")) {}
  std::vector<Way> Ways() const override { return {Way::kDense}; }
  torch::Tensor Run(Way, const AttentionInputs& inputs) const override {
    if (is_additive_) {
      const torch::Tensor is_out = inputs.mask == -std::numeric_limits<double>::infinity();
      return AttendByLogits(Logits(inputs) + inputs.mask.masked_fill(is_out, 0), inputs,
                            at::logical_not(is_out).to(inputs.q.scalar_type()), delta_);
    }
    if (inputs.mask.min().item<double>() < 0) {
      throw StatusException(Mismatch(reason::SCHEMA_INVALID, "mask",
                                     "entries >= 0 with mask_into_logits log",
                                     std::to_string(inputs.mask.min().item<double>())));
    }
    const torch::Tensor mask = floor_ > 0 ? inputs.mask.clamp_min(floor_) : inputs.mask;
    return AttendByLogits(Logits(inputs), inputs, mask, delta_);
  }
  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    return inputs.mask.dim() == 3 ? inputs.mask : inputs.mask.unsqueeze(0);
  }

 private:
  bool is_additive_;
  double floor_, delta_;
};

OptionSpec DeltaOption() {
  return Number("delta", 0, 0, 1, "added to a row's sum of scores times mask");
}

class Linear : public Mechanism {
 public:
  Linear(const Options& options, const std::string& kind) : scores_(options, kind) {}
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

MechanismInfo LinearInfo(std::string name, const std::string& kind, std::string text,
                         std::string source) {
  MechanismInfo info{
      std::move(name),      std::move(text), "O(L m dv), m features", std::move(source), {},
      ScoreOptions({kind}), nullptr};
  info.make = [kind](const Options& options) {
    return std::make_unique<const Linear>(options, kind);
  };
  return info;
}

template <typename T>
std::unique_ptr<const Mechanism> MakeOf(const Options& options) {
  return std::make_unique<const T>(options);
}

}  // namespace

std::vector<MechanismInfo> UnmaskedMechanisms() {
  return {
      {"softmax",
       "Scores exp(q k / sqrt d).",
       "O(L^2 (d + dv))",
       "grf-masking, Eq. 1",
       {},
       {Flag("scale", true, "divide by sqrt d"), DeltaOption()},
       &MakeOf<Softmax>},
      {"softmax_masked",
       "Softmax scores times a given mask: M exp(q k / sqrt d), or exp(q k / sqrt d + M).",
       "O(L^2 (d + dv))",
       "grf-masking, Eq. 2",
       {"mask"},
       {Word("mask_into_logits", {"log", "additive"},
             "log: the mask multiplies the scores; additive: it is added to the logits, -inf too"),
        Number("floor", 0, 0, 1, "log: least entry of the mask, 1e-6 for masks that are estimates"),
        DeltaOption()},
       &MakeOf<MaskedSoftmax>},
      LinearInfo("linear_relu", "relu", "Linear attention with features ReLU(x) + epsilon.",
                 "linear-attention, Eq. 6; grf-masking, Sec. 2"),
      LinearInfo("linear_elu1", "elu1", "Linear attention with features elu(x) + 1.",
                 "linear-attention, Eq. 7"),
      LinearInfo("linear_square", "square", "Linear attention with features x^2 + epsilon.",
                 "gkat, Sec. 5.4"),
      LinearInfo("favor_pos", "favor_pos",
                 "Linear attention with positive random features of softmax (FAVOR+).",
                 "performer, Lemma 1 and Sec. 2.4"),
      LinearInfo("rfa_gaussian", "rfa_gaussian",
                 "Random feature attention: cosines and sines of normalised q and k.",
                 "flt, Sec. 4 (baselines)"),
      LinearInfo("rfa_arccos", "rfa_arccos",
                 "Random feature attention: ReLU of random projections.",
                 "flt, Sec. 4 (baselines)"),
  };
}

}  // namespace interlacer::attention
