#include "model/attention/core/scores.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <string>

#include "model/attention/core/random_features.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

bool IsRandom(const std::string& kind) {
  return kind == "favor_pos" || kind == "rfa_gaussian" || kind == "rfa_arccos";
}

torch::Tensor LargestOf(const torch::Tensor& x, at::IntArrayRef dims) {
  return at::amax(x, dims, /*keepdim=*/true);
}

}  // namespace

std::vector<OptionSpec> ScoreOptions(const std::vector<std::string>& kinds) {
  std::vector<OptionSpec> specs;
  if (kinds.size() > 1) specs.push_back(Word("score", kinds, "scores of queries and keys"));
  bool has_sum = false, has_favor = false, has_random = false, has_projection = false;
  bool has_arccos = false;
  for (const std::string& kind : kinds) {
    has_sum |= kind == "relu" || kind == "square";
    has_favor |= kind == "favor_pos";
    has_random |= IsRandom(kind);
    has_arccos |= kind == "rfa_arccos";
    has_projection |= kind == "relu" || kind == "elu1" || kind == "square";
  }
  if (has_sum) specs.push_back(Number("epsilon", 1e-3, 0, 1, "added to features relu and square"));
  if (has_favor) {
    specs.push_back(Number("epsilon_favor", 1e-6, 0, 1,
                           "added to features favor_pos, whose largest is 1 by then"));
    specs.push_back(Flag("hyperbolic", false, "favor_pos: features of w and -w"));
  }
  if (has_random) {
    specs.push_back(Integer("features", 64, 2, 65536,
                            "number m of random features; even for rfa_gaussian and hyperbolic"));
  }
  if (has_arccos) {
    specs.push_back(Flag("l2_normalise", false, "rfa_arccos: of x / |x|, as of rfa_gaussian"));
  }
  if (has_projection) {
    specs.push_back(Integer("proj_dim", 0, 0, 65536,
                            "relu, elu1, square: width of a random projection first, 0 for none"));
  }
  if (has_random || has_projection) {
    specs.push_back(Flag("orthogonal", true, "random rows at right angles within blocks of d"));
    specs.push_back(Integer("seed", 0, 0, INT64_MAX, "of all that is random"));
    specs.push_back(RedrawOption());
  }
  specs.push_back(Number("delta", 0, 0, 1,
                         "added to a row's sum of scores times mask; favor_pos has divided its "
                         "scores by the largest features"));
  return specs;
}

Scores::Scores(const Options& options, const std::string& only_kind)
    : options_(options),
      kind_(only_kind.empty() ? options.Chosen("score") : only_kind),
      epsilon_(options.Has("epsilon") ? options.Real("epsilon") : 0),
      epsilon_favor_(options.Has("epsilon_favor") ? options.Real("epsilon_favor") : 0),
      delta_(options.Has("delta") ? options.Real("delta") : 0),
      feature_count_(options.Has("features") ? options.Int("features") : 0),
      projection_(options.Has("proj_dim") ? options.Int("proj_dim") : 0),
      is_orthogonal_(options.Has("orthogonal") && options.IsSet("orthogonal")),
      is_hyperbolic_(options.Has("hyperbolic") && options.IsSet("hyperbolic")),
      is_normalised_(kind_ == "rfa_gaussian" ||
                     (kind_ == "rfa_arccos" && options.IsSet("l2_normalise"))) {
  if (HasPairs() && feature_count_ % 2 != 0) {
    throw StatusException(Mismatch(reason::CONFIG_INVALID, "options.features",
                                   "an even number of features that come in pairs",
                                   std::to_string(feature_count_)));
  }
}

bool Scores::HasPairs() const {
  return kind_ == "rfa_gaussian" || (kind_ == "favor_pos" && is_hyperbolic_);
}

std::int64_t Scores::FeatureCount(std::int64_t width) const {
  if (IsRandom(kind_)) return feature_count_;
  return projection_ > 0 ? projection_ : width;
}

NamedTensors Scores::InitialParameters(const AttentionInputs& inputs, std::int64_t width) const {
  std::int64_t rows = 0;
  if (IsRandom(kind_)) {
    rows = HasPairs() ? feature_count_ / 2 : feature_count_;
  } else if (has_features()) {
    rows = projection_;
  }
  if (rows == 0) return {};
  return {{"omega", RandomProjection(SeedOf(options_, inputs), inputs.heads(), rows, width,
                                     is_orthogonal_, inputs.q.options().requires_grad(false))}};
}

torch::Tensor Scores::LogFavor(const torch::Tensor& x_in, const torch::Tensor& omega,
                               bool is_scaled) const {
  const torch::Tensor x =
      is_scaled ? x_in * std::pow(static_cast<double>(x_in.size(3)), -0.25) : x_in;
  const torch::Tensor projected = at::matmul(x, omega.transpose(1, 2));
  const torch::Tensor both = is_hyperbolic_ ? at::cat({projected, -projected}, 3) : projected;
  return both - 0.5 * (x * x).sum(3, true) - 0.5 * std::log(static_cast<double>(both.size(3)));
}

torch::Tensor Scores::Map(const torch::Tensor& x_in, const NamedTensors& parameters) const {
  const auto omega = parameters.find("omega");
  torch::Tensor x = x_in;
  if (is_normalised_) {
    x = x / x.norm(2, {3}, true).clamp_min(std::numeric_limits<float>::min());
  }
  if (omega != parameters.end()) x = at::matmul(x, omega->second.transpose(1, 2));
  if (kind_ == "relu") return at::relu(x) + epsilon_;
  if (kind_ == "elu1") return at::elu(x) + 1;
  if (kind_ == "square") return x * x + epsilon_;
  const double scale = 1 / std::sqrt(static_cast<double>(feature_count_));
  if (kind_ == "rfa_arccos") return at::relu(x) * scale;
  // cos^2 + sin^2 = 1: a pair is one feature of the two.
  return at::cat({at::cos(x), at::sin(x)}, 3) * (scale * std::sqrt(2.0));
}

Features Scores::MakeFeatures(const AttentionInputs& inputs, const torch::Tensor& q,
                              const torch::Tensor& k, bool is_scaled) const {
  const torch::Tensor kept = inputs.KeyMask();
  if (kind_ != "favor_pos") {
    return {Map(q, inputs.parameters), Map(k, inputs.parameters) * kept, delta_};
  }
  const torch::Tensor& omega = inputs.parameters.at("omega");
  const torch::Tensor log_q = LogFavor(q, omega, is_scaled);
  const torch::Tensor log_k = LogFavor(k, omega, is_scaled);
  // Padding does not count; where all is padding any number will do.
  const torch::Tensor largest =
      LargestOf(log_k.masked_fill(kept == 0, -1e30), {2, 3}).clamp_min(-1e29);
  return {at::exp(log_q - LargestOf(log_q, {3})) + epsilon_favor_,
          (at::exp((log_k - largest).clamp_max(0)) + epsilon_favor_) * kept, delta_};
}

ScaledFeatures Scores::MakeScaledFeatures(const AttentionInputs& inputs, const torch::Tensor& q,
                                          const torch::Tensor& k, bool is_scaled) const {
  const torch::Tensor kept = inputs.KeyMask();
  if (kind_ != "favor_pos") {
    const Features features = MakeFeatures(inputs, q, k, is_scaled);
    return {features.q, features.k, at::zeros_like(features.k.slice(3, 0, 1)), delta_};
  }
  const torch::Tensor& omega = inputs.parameters.at("omega");
  const torch::Tensor log_q = LogFavor(q, omega, is_scaled);
  const torch::Tensor log_k = LogFavor(k, omega, is_scaled);
  // Without epsilon and delta what is taken out cancels, gradient and all.
  const auto taken = [&](const torch::Tensor& x) { return delta_ == 0 ? x.detach() : x; };
  // Padding must not set the scale of what comes after it.
  const torch::Tensor largest = LargestOf(taken(log_k), {3}).masked_fill(kept == 0, -1e30);
  return {at::exp(log_q - LargestOf(taken(log_q), {3})),
          at::exp((log_k - largest).clamp_max(0)) * kept, largest, delta_};
}

torch::Tensor Logits(const AttentionInputs& inputs) {
  const double scale = 1 / std::sqrt(static_cast<double>(inputs.width()));
  return at::matmul(inputs.q, inputs.k.transpose(2, 3)) * scale;
}

}  // namespace interlacer::attention
