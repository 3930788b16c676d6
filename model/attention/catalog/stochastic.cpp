// Stochastic positional encodings, and smoothing of queries and keys by walks.

#include <ATen/Functions.h>

#include <cmath>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/coded.h"
#include "model/attention/catalog/walk_masks.h"
#include "model/attention/core/masked_attention.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/basic_masks.h"
#include "model/attention/masks/walk_features.h"

namespace interlacer::attention {
namespace {

/// A GiB in float32.
constexpr double kMaxNoiseNumbers = 1 << 28;

/// Noise of every channel: [H,d,length,R] of q's type; `part` apart for several.
torch::Tensor ChannelNoise(const Options& options, const AttentionInputs& inputs,
                           std::int64_t length, std::int64_t part) {
  RequireNumbers("realizations",
                 static_cast<double>(inputs.heads() * inputs.width() * length) *
                     static_cast<double>(options.Int("realizations")),
                 kMaxNoiseNumbers, "heads x d x places x realizations");
  std::vector<torch::Tensor> channels;
  for (std::int64_t h = 0; h < inputs.heads(); ++h) {
    for (std::int64_t c = 0; c < inputs.width(); ++c) {
      channels.push_back(NormalMatrix(SeedOf(options, inputs), RandomStream::kRandomFeatures,
                                      0x53504500u + static_cast<std::uint32_t>(h),
                                      static_cast<std::uint32_t>(part * inputs.width() + c), length,
                                      options.Int("realizations"))
                             .to(inputs.q.scalar_type()));
    }
  }
  return at::stack(channels).reshape(
      {inputs.heads(), inputs.width(), length, options.Int("realizations")});
}

/// Codes of a channel: [L,R] for queries and keys.
using ChannelCodes = std::function<Codes(const Options&, const AttentionInputs&, std::int64_t head,
                                         std::int64_t channel)>;

/// q_i = sum over channels of q_ic Q_c(i) / (R^1/2 d^1/4), k likewise.
Codes SumOverChannels(const Options& options, const AttentionInputs& inputs,
                      const ChannelCodes& codes_of) {
  const std::int64_t realizations = options.Int("realizations");
  const double scale = std::pow(static_cast<double>(realizations), -0.5) *
                       std::pow(static_cast<double>(inputs.width()), -0.25);
  std::vector<torch::Tensor> q_heads, k_heads;
  for (std::int64_t h = 0; h < inputs.heads(); ++h) {
    torch::Tensor q = at::zeros({inputs.batch(), inputs.length(), realizations},
                                inputs.q.options().requires_grad(false));
    torch::Tensor k = q;
    for (std::int64_t c = 0; c < inputs.width(); ++c) {
      Codes codes = codes_of(options, inputs, h, c);
      if (options.IsSet("gated")) {
        // A channel with a closed gate sees one noise at all places. Roots of the gate and of what
        // is left to 1, which have gradients where the sigmoid is 0 or 1.
        const torch::Tensor gate = inputs.parameters.at("gate")[h][c];
        const torch::Tensor open = at::exp(0.5 * at::log_sigmoid(gate));
        const torch::Tensor closed = at::exp(0.5 * at::log_sigmoid(-gate));
        const torch::Tensor shared = inputs.parameters.at("shared_noise")[h][c] * closed;
        codes.q = codes.q * open + shared;
        codes.k = codes.k * open + shared;
      }
      const auto channel = [&](const torch::Tensor& x) {
        return x.select(1, h).select(2, c).unsqueeze(2);
      };
      q = q + channel(inputs.q) * codes.q;
      k = k + channel(inputs.k) * codes.k;
    }
    q_heads.push_back(q * scale);
    k_heads.push_back(k * scale);
  }
  return {at::stack(q_heads, 1), at::stack(k_heads, 1)};
}

torch::Tensor ChannelTable(const AttentionInputs& inputs, const std::vector<double>& row) {
  const auto count = static_cast<std::int64_t>(row.size());
  return PerHead(inputs, row).unsqueeze(1).expand({inputs.heads(), inputs.width(), count}).clone();
}

/// What all codes are made of: noise for `length` places or waves, and of gates.
void AddNoise(const Options& options, const AttentionInputs& inputs, std::int64_t length,
              NamedTensors* parameters) {
  (*parameters)["noise"] = ChannelNoise(options, inputs, length, 0);
  if (!options.IsSet("gated")) return;
  (*parameters)["shared_noise"] = ChannelNoise(options, inputs, 1, 1);
  (*parameters)["gate"] =
      at::zeros({inputs.heads(), inputs.width()}, inputs.q.options().requires_grad(false));
}

NamedTensors TapParameters(const Options& options, const AttentionInputs& inputs) {
  const std::int64_t count = options.Int("taps");
  std::vector<double> taps;
  for (std::int64_t p = 0; p < count; ++p) {
    taps.push_back(std::exp(-0.5 * std::abs(static_cast<double>(p - count / 2))));
  }
  NamedTensors parameters{{"taps", ChannelTable(inputs, taps)}};
  // Filters reach over both ends.
  AddNoise(options, inputs, inputs.length() + 2 * count, &parameters);
  return parameters;
}

/// Q(i) = sum over p of taps[p] Z(i - (p - P / 2)), K = Z: their kernel is taps[i - j + P / 2].
Codes TapCodes(const Options& options, const AttentionInputs& inputs, std::int64_t head,
               std::int64_t channel) {
  const std::int64_t count = options.Int("taps"), half = count / 2, length = inputs.length();
  const torch::Tensor noise = inputs.parameters.at("noise")[head][channel];
  const torch::Tensor taps = inputs.parameters.at("taps")[head][channel];
  torch::Tensor q = at::zeros({length, noise.size(1)}, noise.options());
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int64_t first = count - (p - half);
    q = q + taps[p] * noise.slice(0, first, first + length);
  }
  return {q, noise.slice(0, count, count + length)};
}

NamedTensors SineParameters(const Options& options, const AttentionInputs& inputs) {
  std::vector<double> frequency, phase, amplitude;
  const auto count = static_cast<double>(options.Int("sines"));
  for (std::int64_t k = 0; k < options.Int("sines"); ++k) {
    frequency.push_back(std::pow(10.0, -1 - 2 * static_cast<double>(k) / count));
    phase.push_back(0.1 * static_cast<double>(k));
    amplitude.push_back(1 / std::sqrt(count));
  }
  NamedTensors parameters{{"frequency", ChannelTable(inputs, frequency)},
                          {"phase", ChannelTable(inputs, phase)},
                          {"amplitude", ChannelTable(inputs, amplitude)}};
  AddNoise(options, inputs, 2 * options.Int("sines"), &parameters);
  return parameters;
}

/// The kernel is the sum of amplitude^2 cos(2 pi frequency (i - j) + phase).
Codes SineCodes(const Options&, const AttentionInputs& inputs, std::int64_t head,
                std::int64_t channel) {
  const torch::Tensor noise = inputs.parameters.at("noise")[head][channel];
  const auto of = [&](const char* name) {
    return inputs.parameters.at(name)[head][channel].to(at::kDouble).unsqueeze(0);
  };
  const torch::Tensor places =
      at::arange(inputs.length(), at::TensorOptions().dtype(at::kDouble)).unsqueeze(1);
  const torch::Tensor turns = places * of("frequency");
  const torch::Tensor angle = (turns - at::round(turns).detach()) * (2 * M_PI);
  const auto waves = [&](const torch::Tensor& x) {
    return (at::cat({at::cos(x), at::sin(x)}, 1) * at::cat({of("amplitude"), of("amplitude")}, 1))
        .to(inputs.q.scalar_type());
  };
  return {at::matmul(waves(angle + of("phase")), noise), at::matmul(waves(angle), noise)};
}

MechanismInfo StochasticInfo(
    std::string name, std::string text, std::string cost, OptionSpec own,
    std::function<NamedTensors(const Options&, const AttentionInputs&)> parameters,
    ChannelCodes codes_of) {
  return Coded(
      {std::move(name),
       std::move(text),
       std::move(cost),
       "flt, Sec. 4 (baselines: stochastic positional encodings)",
       {},
       {std::move(own), Integer("realizations", 32, 1, 65536, "R: width of the codes of places"),
        Flag("gated", false, "channels may ignore places, by a gate each")},
       nullptr},
      {std::move(parameters),
       [codes_of](const Options& options, const AttentionInputs& inputs) {
         return SumOverChannels(options, inputs, codes_of);
       },
       [](const Options& options, const AttentionInputs&) { return options.Int("realizations"); }});
}

/// Replicated smoothing: q + strength Phi q, and with keys k likewise and a mask Phi Phi^T.
class Smoothing : public Mechanism {
 public:
  Smoothing(const Options& options, bool with_keys)
      : options_(options), with_keys_(with_keys), scores_(options, "relu") {}

  std::vector<Way> Ways() const override {
    if (!with_keys_) return {Way::kDense, Way::kFeatures};
    return {Way::kDense, Way::kFastmult, Way::kPairs, Way::kFeatures};
  }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    return scores_.InitialParameters(inputs);
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const std::int64_t count = ClassTokensOf(options_);
    const MaskPairs phi = Walks(inputs.Placed(count));
    const torch::Tensor keep = inputs.KeyMask().slice(2, count);
    // Class tokens stay as they are.
    const auto smoothed = [&](const torch::Tensor& x) {
      return at::cat(
          {x.slice(2, 0, count), Smoothed(x.slice(2, count), keep, phi, way == Way::kDense)}, 2);
    };
    const Features features = scores_.MakeFeatures(
        inputs, smoothed(inputs.q), with_keys_ ? smoothed(inputs.k) : inputs.k, false);
    if (!with_keys_) return Attend(way, features, inputs.v, nullptr);
    return Attend(way, features, inputs.v, WithClassTokens(MaskOf(phi), count, inputs.q).get());
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    if (!with_keys_) return {};
    const std::int64_t count = ClassTokensOf(options_);
    return WithClassTokens(MaskOf(Walks(inputs.Placed(count))), count, inputs.q)->Dense();
  }

 private:
  /// Features with f = 1.
  MaskPairs Walks(const AttentionInputs& inputs) const {
    WalkSamplerOptions walks;
    walks.sampler = WalkSampler::kIid;
    walks.walk_count = static_cast<int>(options_.Int("walks"));
    walks.max_hops = static_cast<int>(options_.Int("hops"));
    walks.halt_probability = options_.Real("halt_probability");
    walks.seed = SeedOf(options_, inputs);
    const torch::Tensor ones =
        at::ones({1, options_.Int("hops") + 1}, inputs.q.options().requires_grad(false));
    const WalkTerms terms = KeptTerms(inputs, "walks", walks.seed, [&] {
      Graph graph = MaskGraphOf(inputs, options_.Chosen("degrees"));
      if (with_keys_ || options_.IsSet("normalise")) {
        graph = NonNegative(std::move(graph), "a mask or means of walks");
      }
      return SampledTerms(graph, walks);
    });
    return Combined(terms, ones);
  }

  /// x + strength times sums, or means, of kept tokens by Phi; keep [B,1,L,1].
  torch::Tensor Smoothed(const torch::Tensor& x, const torch::Tensor& keep, const MaskPairs& phi,
                         bool is_dense) const {
    const auto spread = [&](const torch::Tensor& of) {
      if (is_dense) return at::matmul(ToDense(*phi.pattern, phi.values), of);
      const torch::Tensor columns = of.permute({2, 0, 1, 3}).reshape({1, of.size(2), -1});
      return SparseProduct(phi.pattern, phi.values, columns)
          .reshape({of.size(2), of.size(0), of.size(1), of.size(3)})
          .permute({1, 2, 0, 3});
    };
    const torch::Tensor sums = spread(x * keep);
    return x + options_.Real("strength") *
                   (options_.IsSet("normalise") ? Normalised(sums, spread(keep)) : sums);
  }

  /// Phi Phi^T, its rows divided by their sums.
  MaskPtr MaskOf(const MaskPairs& phi) const {
    if (!options_.IsSet("normalise")) return MakeSparseFactorMask({phi, phi});
    const torch::Tensor ones = at::ones({1, phi.pattern->rows, 1}, phi.values.options());
    const torch::Tensor sums =
        SparseProduct(phi.pattern, phi.values, TransposedProduct(phi.pattern, phi.values, ones))
            .squeeze(2);
    const MaskPairs left{phi.pattern,
                         Normalised(phi.values, sums.index_select(1, RowsOf(*phi.pattern)))};
    return MakeSparseFactorMask({left, phi});
  }

  Options options_;
  bool with_keys_;
  Scores scores_;
};

MechanismInfo SmoothingInfo(std::string name, std::string text, bool with_keys) {
  return {std::move(name),
          std::move(text),
          with_keys ? "O(nnz(Phi) m dv)" : "O(nnz(Phi) d + L m dv)",
          with_keys ? "grf-replication, Sec. 7.1 (version B)"
                    : "grf-replication, Sec. 4.2 and 7.1 (version A)",
          {"graph"},
          Joined({Number("strength", 0.1, -100, 100, "of what is added"),
                  Flag("normalise", true, "rows of features and mask are divided by their sums"),
                  Integer("walks", 20, 1, 100000,
                          "walks of a token, as in grf-masking, Table 2; 50 in the replication"),
                  Integer("hops", 10, 0, 1000, "hops of a walk at most"),
                  Number("halt_probability", 0.1, 0, 0.999, "of ending before each hop"),
                  DegreesOption(), KeepWalksOption(), ClassTokensOption()},
                 ScoreOptions({"relu"})),
          [with_keys](const Options& options) {
            return std::make_unique<const Smoothing>(options, with_keys);
          }};
}

}  // namespace

std::vector<MechanismInfo> StochasticMechanisms() {
  return {
      StochasticInfo("spe_conv",
                     "Stochastic positional encoding by filtered noise: scores of q and k weighed, "
                     "channel by channel, with learned taps of i - j, on average.",
                     "O(d R L taps + L m (R + dv))",
                     Integer("taps", 9, 1, 4096, "filter taps P, around offset 0"), &TapParameters,
                     &TapCodes),
      StochasticInfo("spe_sine",
                     "Stochastic positional encoding by sinusoids: channels weighed with sums of "
                     "amplitude^2 cos(2 pi frequency (i - j) + phase), on average.",
                     "O(d R L sines + L m (R + dv))",
                     Integer("sines", 4, 1, 4096, "sinusoids T of a channel"), &SineParameters,
                     &SineCodes),
      SmoothingInfo("smooth_a",
                    "Linear attention with queries smoothed over the graph: q + strength Phi q.",
                    false),
      SmoothingInfo("smooth_b",
                    "Queries and keys smoothed over the graph, and scores masked by Phi Phi^T.",
                    true),
  };
}

}  // namespace interlacer::attention
