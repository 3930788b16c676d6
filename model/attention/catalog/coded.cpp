#include "model/attention/catalog/coded.h"

#include <ATen/Functions.h>

#include <cmath>

#include "model/attention/core/causal.h"

namespace interlacer::attention {
namespace {

class CodedMechanism : public Mechanism {
 public:
  CodedMechanism(const Options& options, const CodedParts& parts)
      : options_(options), parts_(parts), scores_(options), is_causal_(options.IsSet("causal")) {
    RefuseCausalClassTokens(options);
  }

  std::vector<Way> Ways() const override {
    return scores_.has_features() ? std::vector<Way>{Way::kDense, Way::kFeatures}
                                  : std::vector<Way>{Way::kDense};
  }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    const std::int64_t count = ClassTokensOf(options_);
    NamedTensors parameters = parts_.parameters(options_, inputs.Placed(count));
    const std::int64_t more = count > 0 && !parts_.is_appended ? 2 * inputs.width() : 0;
    parameters.merge(scores_.InitialParameters(inputs, parts_.width(options_, inputs) + more));
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const Codes codes = CodesOf(inputs);
    if (is_causal_ && scores_.has_features()) {
      const auto features_of = [&](std::int64_t first, std::int64_t last) {
        return scores_.MakeScaledFeatures(inputs.Between(first, last),
                                          codes.q.slice(2, first, last),
                                          codes.k.slice(2, first, last), false);
      };
      return way == Way::kDense
                 ? AttendCausally(features_of(0, inputs.length()), inputs.v, {})
                 : AttendCausallyByChunks(features_of, inputs.v, {}, options_.Int("chunk"));
    }
    if (scores_.has_features()) {
      return Attend(way, scores_.MakeFeatures(inputs, codes.q, codes.k, false), inputs.v, nullptr);
    }
    return AttendByLogits(at::matmul(codes.q, codes.k.transpose(2, 3)), inputs,
                          is_causal_ ? CausalMask(inputs) : torch::Tensor(), scores_.delta());
  }

  /// Row after row, so that no L x L array is made.
  torch::Tensor LargestPositionLogits(const AttentionInputs& inputs) const override {
    if (!parts_.is_appended) return {};
    constexpr std::int64_t kRows = 64;
    AttentionInputs places = inputs.Placed(ClassTokensOf(options_));
    if (places.length() == 0) return at::zeros({inputs.heads()}, inputs.q.options());
    // What is left of the logits is f.
    places.q = places.k = at::zeros({1, inputs.heads(), places.length(), inputs.width()},
                                    inputs.q.options().requires_grad(false));
    const Codes codes = parts_.codes(options_, places);
    const torch::Tensor left = codes.q[0].detach(), right = codes.k[0].detach().transpose(1, 2);
    torch::Tensor largest = at::zeros({left.size(0)}, left.options());
    for (std::int64_t first = 0; first < left.size(1); first += kRows) {
      torch::Tensor f = at::matmul(left.slice(1, first, first + kRows), right).abs();
      if (is_causal_) f = at::tril(f, first);
      largest = at::maximum(largest, at::amax(f, {1, 2}));
    }
    return largest;
  }

 private:
  Codes CodesOf(const AttentionInputs& inputs) const {
    const std::int64_t count = ClassTokensOf(options_);
    Codes codes = parts_.codes(options_, inputs.Placed(count));
    if (count == 0) return codes;
    if (!parts_.is_appended) return Widened(codes, inputs, count);
    const auto with_class = [&](const torch::Tensor& code, const torch::Tensor& x) {
      const torch::Tensor own = ScaledTokens(x.slice(2, 0, count));
      return at::cat({at::constant_pad_nd(own, {0, code.size(3) - own.size(3)}), code}, 2);
    };
    return {with_class(codes.q, inputs.q), with_class(codes.k, inputs.k)};
  }

  /// Queries [code, q, 0] and keys [code, 0, k]; of class tokens [0, 0, q] and [0, k, k].
  static Codes Widened(const Codes& codes, const AttentionInputs& inputs, std::int64_t count) {
    const torch::Tensor q = ScaledTokens(inputs.q), k = ScaledTokens(inputs.k);
    const auto joined = [&](const torch::Tensor& code, const torch::Tensor& first,
                            const torch::Tensor& second) {
      return at::cat({at::constant_pad_nd(code, {0, 0, count, 0}), first, second}, 3);
    };
    const auto before = [&](const torch::Tensor& x) {
      return at::constant_pad_nd(x.slice(2, 0, count), {0, 0, 0, x.size(2) - count});
    };
    const auto after = [&](const torch::Tensor& x) {
      return at::constant_pad_nd(x.slice(2, count), {0, 0, count, 0});
    };
    return {joined(codes.q, after(q), before(q)), joined(codes.k, before(k), before(k) + after(k))};
  }

  Options options_;
  CodedParts parts_;
  Scores scores_;
  bool is_causal_;
};

}  // namespace

MechanismInfo Coded(MechanismInfo info, CodedParts parts) {
  info.options = Joined(std::move(info.options), ScoreOptions({"favor_pos", "softmax"}));
  info.options.push_back(ClassTokensOption());
  info.options.push_back(Flag("causal", false,
                              "a token sees itself and those before it; favor_pos then has no "
                              "epsilon"));
  info.options.push_back(ChunkOption());
  info.make = [parts = std::move(parts)](const Options& options) {
    return std::make_unique<const CodedMechanism>(options, parts);
  };
  return info;
}

torch::Tensor ScaledTokens(const torch::Tensor& x) {
  return x * std::pow(static_cast<double>(x.size(3)), -0.25);
}

torch::Tensor Appended(const torch::Tensor& x, const torch::Tensor& table) {
  return at::cat({x, table.unsqueeze(0).expand({x.size(0), -1, -1, -1})}, 3);
}

}  // namespace interlacer::attention
