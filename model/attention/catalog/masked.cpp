#include "model/attention/catalog/masked.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/attention/masks/basic_masks.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

class MaskedMechanism : public Mechanism {
 public:
  MaskedMechanism(const Options& options, const MaskedParts& parts, const std::string& only_kind)
      : options_(options), parts_(parts), scores_(options, only_kind) {
    if (parts_.check) parts_.check(options);
  }

  std::vector<Way> Ways() const override {
    std::vector<Way> ways = parts_.ways(options_);
    if (!scores_.has_features()) {
      std::erase_if(ways, [](Way way) { return way == Way::kFastmult || way == Way::kFeatures; });
    }
    return ways;
  }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    NamedTensors parameters = scores_.InitialParameters(inputs);
    if (parts_.parameters) {
      parameters.merge(parts_.parameters(options_, inputs.Placed(ClassTokensOf(options_))));
    }
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    return Finished(Attend(way, scores_, inputs, MaskOf(inputs).get()));
  }

  torch::Tensor RunChosen(const AttentionInputs& inputs, Way* used) const override {
    const MaskPtr mask = MaskOf(inputs);
    *used = FewestOperations(inputs, *mask);
    return Finished(Attend(*used, scores_, inputs, mask.get()));
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    return MaskOf(inputs)->Dense().to(inputs.q.scalar_type());
  }

 private:
  torch::Tensor Finished(const torch::Tensor& out) const {
    return parts_.finish ? parts_.finish(options_, out) : out;
  }

  Way FewestOperations(const AttentionInputs& inputs, const Mask& mask) const {
    const std::vector<Way> ways = Ways();
    if (ways.size() == 1) return ways[0];
    const std::int64_t m =
        scores_.has_features() ? scores_.FeatureCount(inputs.width()) : inputs.width();
    const std::int64_t dv = inputs.value_width();
    // A product needs at least L m dv operations, the dense way L^2 (m + dv).
    if (inputs.length() * (m + dv) <= m * dv) return Way::kDense;
    if (std::find(ways.begin(), ways.end(), Way::kPairs) == ways.end()) {
      return ProductWay(ways, mask, dv);
    }
    const auto factors = mask.FactorsOfPairs();
    if (!factors) return ways[1];
    const double of_products = static_cast<double>(factors->left.pattern->entry_count() +
                                                   factors->right.pattern->entry_count()) /
                               2 * static_cast<double>(m * dv);
    const std::int64_t terms = SharedColumns(*factors);
    const double of_pairs = static_cast<double>(terms) * static_cast<double>(m + dv);
    return terms <= kMaxSharedColumns && of_pairs < of_products ? Way::kPairs : ways[1];
  }

  /// As many operations by both, but features write m numbers a token for every entry of a row of
  /// both factors, fastmult m (dv + 1). The factor of two is measured: docs/attention.md.
  static Way ProductWay(const std::vector<Way>& ways, const Mask& mask, std::int64_t value_width) {
    const auto has = [&ways](Way way) {
      return std::find(ways.begin(), ways.end(), way) != ways.end();
    };
    const auto width = mask.FactorWidth();
    if (!width || !has(Way::kFeatures) || !has(Way::kFastmult)) return ways[1];
    return 2 * *width <= value_width + 1 ? Way::kFeatures : Way::kFastmult;
  }

  MaskPtr MaskOf(const AttentionInputs& inputs) const {
    const std::int64_t count = ClassTokensOf(options_);
    return WithClassTokens(parts_.mask(options_, inputs.Placed(count)), count, inputs.q);
  }

  Options options_;
  MaskedParts parts_;
  Scores scores_;
};

}  // namespace

MechanismInfo Masked(MechanismInfo info, MaskedParts parts, const std::vector<std::string>& kinds) {
  info.options = Joined(std::move(info.options), ScoreOptions(kinds));
  info.options.push_back(ClassTokensOption());
  // A mask's own seed is that of the scores too.
  for (auto spec = info.options.begin(); spec != info.options.end();) {
    const bool is_repeated =
        std::any_of(info.options.begin(), spec,
                    [&](const OptionSpec& earlier) { return earlier.name == spec->name; });
    spec = is_repeated ? info.options.erase(spec) : spec + 1;
  }
  const std::string only_kind = kinds.size() == 1 ? kinds[0] : "";
  info.make = [parts = std::move(parts), only_kind](const Options& options) {
    return std::make_unique<const MaskedMechanism>(options, parts, only_kind);
  };
  return info;
}

OptionSpec ClassTokensOption() {
  return Integer("class_tokens", 0, 0, 4096,
                 "first tokens that see all and that all see; graph, grid, positions, segments and "
                 "tree are of the tokens after them");
}

void RefuseCausalClassTokens(const Options& options) {
  if (!options.IsSet("causal") || ClassTokensOf(options) == 0) return;
  throw StatusException(Mismatch(reason::CONFIG_INVALID, "options.class_tokens",
                                 "0 beside causal: they would carry later tokens to earlier ones",
                                 std::to_string(ClassTokensOf(options))));
}

OptionSpec DegreesOption() {
  return Word("degrees", {"out", "out_in"},
              "d of 1 / sqrt(d_i d_j): out-edges of i and j, or those out of i and into j");
}

torch::Tensor PerHead(const AttentionInputs& inputs, double value) {
  return at::full({inputs.heads()}, value, inputs.q.options().requires_grad(false));
}

torch::Tensor PerHead(const AttentionInputs& inputs, const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return at::tensor(values, at::kDouble)
      .to(inputs.q.scalar_type())
      .reshape({1, count})
      .expand({inputs.heads(), count})
      .contiguous();
}

OptionSpec PositivityOption(const std::string& first) {
  std::vector<std::string> choices{first};
  for (const char* choice : {"abs", "exp", "softplus", "none"}) {
    if (first != choice) choices.emplace_back(choice);
  }
  return Word("positivity", choices, "what makes the mask's parameters positive");
}

torch::Tensor Positive(const Options& options, const torch::Tensor& parameter) {
  if (options.Is("positivity", "abs")) return parameter.abs();
  if (options.Is("positivity", "exp")) return at::exp(parameter);
  if (options.Is("positivity", "softplus")) return at::softplus(parameter);
  return parameter;
}

double BeforePositive(const Options& options, double value) {
  if (options.Is("positivity", "exp")) return std::log(value);
  if (options.Is("positivity", "softplus")) return BeforeSoftplus(value);
  return value;
}

double BeforeSoftplus(double x) { return x + std::log(-std::expm1(-x)); }

}  // namespace interlacer::attention
