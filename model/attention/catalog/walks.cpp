// Graph random features, and kernels of walks.

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/walk_masks.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/basic_masks.h"
#include "model/attention/masks/power_series.h"
#include "model/attention/masks/walk_features.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// Terms of one head, or of every head if each has walks of its own.
template <typename TermsOfHead>
WalkTerms TermsOfHeads(const Options& options, const AttentionInputs& inputs,
                       const TermsOfHead& terms_of) {
  std::vector<WalkTerms> heads;
  const std::int64_t count = options.IsSet("walks_per_head") ? inputs.heads() : 1;
  for (std::int64_t head = 0; head < count; ++head) heads.push_back(terms_of(head));
  return OfHeads(heads);
}

/// Head 0 has the walks that all heads share by default.
WalkSamplerOptions SamplerOptions(const Options& options, const AttentionInputs& inputs,
                                  std::uint32_t ensemble, std::int64_t head) {
  WalkSamplerOptions walks;
  walks.sampler = SamplerNamed(options.Chosen("sampler"));
  walks.walk_count = static_cast<int>(options.Int("walks"));
  walks.max_hops = static_cast<int>(options.Int("hops"));
  walks.halt_probability = options.Real("halt_probability");
  walks.seed = SeedOfHead(options, inputs, head);
  walks.ensemble = 2 * static_cast<std::uint32_t>(options.Int("ensemble")) + ensemble;
  walks.antithetic_halting = options.IsSet("antithetic_halting");
  if (HaltsInPairs(walks) && walks.walk_count % 2 != 0) {
    throw StatusException(Mismatch(reason::CONFIG_INVALID, "options.walks",
                                   "an even number for antithetic halting",
                                   std::to_string(walks.walk_count)));
  }
  return walks;
}

/// Coefficients f of features, M = Phi Phi^T, or alpha of the mask itself.
enum class Series { kFeatures, kMask };

/// By powers of W up to `hops`: powers of a number, or of a named kernel what comes before the
/// rest.
std::vector<double> InitialCoefficients(const Options& options, Series series) {
  const auto count = static_cast<std::size_t>(options.Int("hops")) + 1;
  if (!options.Has("coefficients") || options.Is("coefficients", "decay")) {
    std::vector<double> powers;
    for (std::size_t t = 0; t < count; ++t) {
      powers.push_back(std::pow(options.Real("decay"), static_cast<double>(t)));
    }
    return powers;
  }
  const std::string& kernel = options.Chosen("coefficients");
  ThrowIfError(CheckKernel(kernel, options.Real("scale")));
  std::vector<double> alpha = KernelCoefficients(
      kernel, options.Real("scale"), static_cast<int>(options.Int("power")), kSeriesTolerance);
  alpha.resize(count, 0);
  return series == Series::kMask ? alpha : ValueOrThrow(Deconvolved(alpha));
}

NamedTensors CoefficientParameters(const Options& options, const AttentionInputs& inputs,
                                   Series series) {
  std::vector<double> f = InitialCoefficients(options, series);
  if (options.Is("positive", "softplus")) {
    // Rounding, and zeros behind the end of a series, have a small number before softplus; what is
    // below 0 has none.
    for (double& x : f) {
      if (x < -kSeriesTolerance) {
        throw StatusException(Mismatch(
            reason::CONFIG_INVALID, "options.positive",
            "none, mask or coefficients for this kernel, of which some coefficients are below 0",
            "softplus"));
      }
      x = BeforeSoftplus(std::max(x, 1e-30));
    }
  }
  return {{"f", PerHead(inputs, f)}};
}

std::function<NamedTensors(const Options&, const AttentionInputs&)> CoefficientsOf(Series series) {
  return [series](const Options& options, const AttentionInputs& inputs) {
    return CoefficientParameters(options, inputs, series);
  };
}

torch::Tensor Coefficients(const Options& options, const AttentionInputs& inputs) {
  const torch::Tensor& f = inputs.parameters.at("f");
  if (options.Is("positive", "coefficients")) return f.abs();
  return options.Is("positive", "softplus") ? at::softplus(f) : f;
}

std::vector<OptionSpec> CoefficientOptions() {
  return {Number("decay", 0.5, 1e-3, 2, "initial coefficients decay^hops"),
          Word("coefficients",
               {"decay", "diffusion", "regularised_laplacian", "p_step", "cosine", "resolvent"},
               "initial ones: powers of decay, or those of a kernel of named_kernel, of which M or "
               "its mean is the series up to hops; for Phi Phi^T by deconvolution"),
          Number("scale", 1, 1e-3, 100,
                 "s of a kernel; at least 2 for p_step, below 1 for "
                 "resolvent"),
          Integer("power", 1, 1, 8, "p of a kernel")};
}

WalkTerms TermsOf(const Options& options, const AttentionInputs& inputs, const Graph& graph,
                  std::uint32_t ensemble) {
  const LengthLaw law = LengthLawOf(options);
  return KeptTerms(inputs, ensemble == 0 ? "walks" : "walks of keys", SeedOf(options, inputs), [&] {
    return TermsOfHeads(options, inputs, [&](std::int64_t head) {
      return SampledTerms(graph, SamplerOptions(options, inputs, ensemble, head), law);
    });
  });
}

/// Without absolute values of its entries the mask is to be >= 0 by the graph's weights.
Graph GraphOfMask(const Options& options, const AttentionInputs& inputs) {
  Graph graph = MaskGraphOf(inputs, options.Chosen("degrees"));
  return options.Is("positive", "mask") ? graph
                                        : NonNegative(std::move(graph), "graph random features");
}

/// The mask itself, or its absolute values, which exist entry by entry alone, or no less than
/// `floor`, which leaves no entry out.
MaskPtr Finished(const Options& options, MaskPtr mask) {
  if (options.Is("positive", "mask")) {
    MaskPairs pairs = mask->Pairs();
    pairs.values = pairs.values.abs();
    mask = MakePairMask(std::move(pairs));
  }
  const double floor = options.Real("floor");
  return floor > 0 ? MakeDenseMask(mask->Dense().clamp_min(floor)) : std::move(mask);
}

std::vector<Way> FinishedWays(const Options& options, const std::vector<Way>& ways) {
  if (options.Real("floor") > 0) return {Way::kDense};
  if (options.Is("positive", "mask")) return {Way::kDense, Way::kPairs, Way::kFastmult};
  return ways;
}

std::function<std::vector<Way>(const Options&)> WaysOf(std::vector<Way> ways) {
  return [ways = std::move(ways)](const Options& options) { return FinishedWays(options, ways); };
}

std::vector<OptionSpec> SignOptions() {
  return {Word("positive", {"none", "mask", "coefficients", "softplus"},
               "mask: absolute values of its entries; coefficients: of f; softplus: softplus of f, "
               "for kernels whose coefficients are 0 or more"),
          Number("floor", 0, 0, 1,
                 "least entry of the mask, in the dense way alone; 1e-6 for softmax with an "
                 "estimate, whose zeros would leave most pairs out")};
}

std::vector<OptionSpec> EstimateOptions() {
  return Joined(
      {Word("length_law", {"geometric", "uniform", "power"},
            "hops of a walk: by halt_probability; uniform up to hops; at least t with 1 / (t + "
            "1). Walks of the last two are independent, whatever the sampler"),
       DegreesOption()},
      SignOptions());
}

MaskPtr SymmetricMask(const Options& options, const AttentionInputs& inputs, const Graph& graph) {
  const torch::Tensor f = Coefficients(options, inputs);
  const MaskPairs queries = Combined(TermsOf(options, inputs, graph, 0), f);
  const MaskPairs keys = options.IsSet("independent_qk_walks")
                             ? Combined(TermsOf(options, inputs, graph, 1), f)
                             : queries;
  return Finished(options, MakeSparseFactorMask({queries, keys}));
}

MaskPtr AsymmetricMask(const Options& options, const AttentionInputs& inputs, const Graph& graph) {
  return Finished(options, MakePairMask(Combined(TermsOf(options, inputs, graph, 0),
                                                 Coefficients(options, inputs))));
}

MaskPtr AdHocMask(const Options& options, const AttentionInputs& inputs) {
  const Graph graph =
      WithoutImportanceWeights(AdjacencyOf(inputs), options.Real("halt_probability"));
  return options.Is("form", "symmetric") ? SymmetricMask(options, inputs, graph)
                                         : AsymmetricMask(options, inputs, graph);
}

OptionSpec IndependentOption() {
  return Flag("independent_qk_walks", false,
              "walks of their own for queries and keys: no bias on the diagonal");
}

}  // namespace

std::uint64_t SeedOfHead(const Options& options, const AttentionInputs& inputs, std::int64_t head) {
  if (!options.IsSet("walks_per_head")) return SeedOf(options, inputs);
  return SeedOf(options, inputs) + static_cast<std::uint64_t>(head) * 0x9E3779B97F4A7C15ull;
}

LengthLaw LengthLawOf(const Options& options) {
  if (!options.Has("length_law") || options.Is("length_law", "geometric")) {
    return LengthLaw::kGeometric;
  }
  return options.Is("length_law", "power") ? LengthLaw::kPower : LengthLaw::kUniform;
}

Graph SymmetricGraphOf(const Options& options, const AttentionInputs& inputs) {
  Graph graph = GraphOfMask(options, inputs);
  RequireUndirected(graph, "symmetric graph random features (grf_asym takes directed ones)");
  return graph;
}

OptionSpec KeepWalksOption() {
  return Flag("keep_walks", false,
              "walks of the last graph are kept for the next call on it: the same numbers, sooner");
}

WalkTerms KeptTerms(const AttentionInputs& inputs, const char* slot, std::uint64_t seed,
                    const std::function<WalkTerms()>& make) {
  if (inputs.memory == nullptr) return make();
  // Heads may have walks of their own.
  const std::string name = slot + std::to_string(inputs.heads());
  return *inputs.memory->Get<WalkTerms>(inputs.graph, name, seed, make);
}

std::vector<OptionSpec> WalkOptions(std::int64_t walks, std::int64_t hops,
                                    double halt_probability) {
  return {Word("sampler", {"repelling", "iid", "antithetic", "repelling_per_prefix"},
               "how walks of one token depend on each other"),
          Flag("antithetic_halting", false,
               "walks k and k + n/2 halt on opposite draws, whatever the sampler, as those of "
               "antithetic do; n even"),
          Integer("walks", walks, 1, 100000, "walks n of a token"),
          Integer("hops", hops, 0, 1000, "hops of a walk at most"),
          Number("halt_probability", halt_probability, 0, 0.999, "of ending before each hop"),
          Integer("ensemble", 0, 0, 1 << 30, "another number: other walks of the same seed"),
          Flag("walks_per_head", false, "independent walks for every head"),
          KeepWalksOption(),
          RedrawOption(),
          Integer("seed", 0, 0, INT64_MAX, "of all that is random")};
}

std::vector<OptionSpec> FrequencyOptions() {
  return {Integer("hops", 3, 0, 64, "hops tau of a walk"),
          Number("lambda", 1, 0, 1, "initial weight of a hop"),
          Number("halt_probability", 0, 0, 0.999, "p: hops count (1 - p)^e"),
          Number("alpha", 1, 0, 1, "frequency vectors are divided by their length^alpha"),
          Word("estimator", {"exact", "sampled"}, "all walks, or a sample of them"),
          Integer("walks", 50, 1, 100000, "sampled: walks of a token"),
          Integer("ensemble", 0, 0, 1 << 30, "another number: other walks of the same seed"),
          Flag("walks_per_head", false, "independent walks for every head"),
          KeepWalksOption(),
          RedrawOption(),
          Integer("seed", 0, 0, INT64_MAX, "of all that is random")};
}

NamedTensors FrequencyParameters(const Options& options, const AttentionInputs& inputs) {
  return {{"lambda", PerHead(inputs, options.Real("lambda"))}};
}

MaskPairs DividedByLengths(MaskPairs psi, double alpha) {
  if (alpha == 0) return psi;
  const torch::Tensor rows = RowsOf(*psi.pattern);
  const torch::Tensor lengths =
      at::zeros({psi.values.size(0), psi.pattern->rows}, psi.values.options().requires_grad(false))
          .index_add(1, rows, psi.values * psi.values);
  psi.values = psi.values * at::pow(lengths, -0.5 * alpha).index_select(1, rows);
  return psi;
}

MaskPtr FrequencyMask(const Options& options, const AttentionInputs& inputs) {
  const WalkTerms terms = KeptTerms(inputs, "walks", SeedOf(options, inputs), [&] {
    const Graph hops =
        RowNormalised(NonNegative(AdjacencyOf(inputs), "walks by hop probabilities"));
    if (options.Is("estimator", "exact")) {
      return EnumeratedTerms(hops, static_cast<int>(options.Int("hops")));
    }
    WalkSamplerOptions walks;
    walks.sampler = WalkSampler::kIid;
    walks.walk_count = static_cast<int>(options.Int("walks"));
    walks.max_hops = static_cast<int>(options.Int("hops"));
    walks.ensemble = static_cast<std::uint32_t>(options.Int("ensemble"));
    return TermsOfHeads(options, inputs, [&](std::int64_t head) {
      walks.seed = SeedOfHead(options, inputs, head);
      return SampledTerms(hops, walks);
    });
  });
  const torch::Tensor base =
      inputs.parameters.at("lambda").abs() * (1 - options.Real("halt_probability"));
  const torch::Tensor exponents =
      at::arange(options.Int("hops") + 1, base.options().requires_grad(false));
  // Every row holds its own token with weight 1.
  const MaskPairs psi = DividedByLengths(
      Combined(terms, at::pow(base.unsqueeze(1), exponents.unsqueeze(0))), options.Real("alpha"));
  return MakeSparseFactorMask({psi, psi});
}

std::vector<MechanismInfo> WalkMechanisms() {
  const std::vector<Way> factor_ways{Way::kDense, Way::kFastmult, Way::kPairs, Way::kFeatures};
  const std::vector<Way> pair_ways{Way::kDense, Way::kPairs, Way::kFastmult};
  return {
      Masked({"grf_sym",
              "Symmetric graph random features: M = Phi1 Phi2^T estimates the power series with "
              "alpha = f * f (convolution). W of an undirected graph: the given weights, or 1 / "
              "sqrt(d_i d_j).",
              "O(nnz(Phi) m dv)",
              "grf-masking, Alg. 1",
              {"graph"},
              Joined(Joined(Joined(CoefficientOptions(), {IndependentOption()}), EstimateOptions()),
                     WalkOptions(16, 8, 0.2)),
              nullptr},
             {WaysOf(factor_ways), CoefficientsOf(Series::kFeatures),
              [](const Options& options, const AttentionInputs& inputs) {
                return SymmetricMask(options, inputs, SymmetricGraphOf(options, inputs));
              }}),
      Masked({"grf_asym",
              "Asymmetric graph random features: row i of M is token i's feature, an estimate of "
              "the power series with alpha = f. Fits directed graphs.",
              "O(L row (m + dv)), row: entries of a feature",
              "grf-masking, Alg. 2 (without its division by the number of walks) and App. D",
              {"graph"},
              Joined(Joined(CoefficientOptions(), EstimateOptions()), WalkOptions(27, 3, 0)),
              nullptr},
             {WaysOf(pair_ways), CoefficientsOf(Series::kMask),
              [](const Options& options, const AttentionInputs& inputs) {
                return AsymmetricMask(options, inputs, GraphOfMask(options, inputs));
              }}),
      Masked({"grf_exact",
              "The mean of grf_asym: all walks of up to so many hops, enumerated.",
              "O(L row (m + dv))",
              "grf-masking, Eq. 4 and App. C.3",
              {"graph"},
              Joined(Joined(CoefficientOptions(), SignOptions()),
                     {Integer("hops", 3, 0, 64, "hops of a walk at most"), DegreesOption(),
                      KeepWalksOption()}),
              nullptr},
             {WaysOf(pair_ways), CoefficientsOf(Series::kMask),
              [](const Options& options, const AttentionInputs& inputs) {
                const WalkTerms terms = KeptTerms(inputs, "walks", 0, [&] {
                  return EnumeratedTerms(GraphOfMask(options, inputs),
                                         static_cast<int>(options.Int("hops")));
                });
                return Finished(options,
                                MakePairMask(Combined(terms, Coefficients(options, inputs))));
              }}),
      Masked({"grf_adhoc",
              "Walks without importance weights: features count visits alone.",
              "as grf_sym",
              "grf-masking, Eq. 21",
              {"graph"},
              Joined(Joined({CoefficientOptions()[0],
                             Word("form", {"symmetric", "asymmetric"}, "M = Phi1 Phi2^T, or Phi"),
                             IndependentOption()},
                            SignOptions()),
                     WalkOptions(16, 8, 0.2)),
              nullptr},
             {[=](const Options& options) {
                return FinishedWays(options,
                                    options.Is("form", "symmetric") ? factor_ways : pair_ways);
              },
              CoefficientsOf(Series::kFeatures), &AdHocMask}),
      Masked({"rwgnk",
              "Random walks graph-nodes kernel: M = Psi Psi^T of how often walks of up to tau hops "
              "visit tokens.",
              "O(nnz(Psi) m dv)",
              "gkat, Sec. 4.2 and Thm 4.2",
              {"graph"},
              FrequencyOptions(),
              nullptr},
             {AlwaysWays(factor_ways), &FrequencyParameters, &FrequencyMask}),
  };
}

}  // namespace interlacer::attention
