// Masks that are functions of a graph.

#include <ATen/Functions.h>

#include <cmath>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/basic_masks.h"
#include "model/attention/masks/graph.h"
#include "model/attention/masks/heat.h"
#include "model/attention/masks/power_series.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

const std::vector<Way> kProductWays{Way::kDense, Way::kFastmult};

MaskPairs WithType(MaskPairs pairs, const AttentionInputs& inputs) {
  pairs.values = pairs.values.to(inputs.q.scalar_type());
  return pairs;
}

/// c_k = exp(-rate k), k <= degree.
torch::Tensor FallingCoefficients(const Options& options, const AttentionInputs& inputs) {
  std::vector<double> c;
  for (std::int64_t k = 0; k <= options.Int("degree"); ++k) {
    c.push_back(std::exp(-options.Real("rate") * static_cast<double>(k)));
  }
  return PerHead(inputs, c);
}

NamedTensors SeriesParameters(const Options& options, const AttentionInputs& inputs) {
  return {{options.Chosen("param"), FallingCoefficients(options, inputs)}};
}

MaskPtr SeriesMask(const Options& options, const AttentionInputs& inputs) {
  torch::Tensor c = inputs.parameters.at(options.Chosen("param"));
  const bool is_alpha = options.Is("param", "alpha");
  const bool is_of_mask = options.Is("positive", "mask");
  Graph graph = MaskGraphOf(inputs, options.Chosen("degrees"));
  if (!is_of_mask) {
    c = c.abs();
    graph = NonNegative(std::move(graph), "positive coefficients");
  }
  if (!is_alpha) {
    RequireUndirected(graph, "Phi Phi^T of a power series (param alpha takes directed ones)");
  }
  PowersOfGraph powers;
  if (inputs.memory != nullptr) {
    powers = [memory = inputs.memory, input = inputs.graph, graph, degree = options.Int("degree")] {
      return *memory->Get<torch::Tensor>(input, "powers", 0,
                                         [&] { return DensePowers(graph, degree); });
    };
  }
  MaskPtr mask = is_alpha ? MakePowerSeriesMask(graph, c, std::move(powers))
                          : MakeSquaredSeriesMask(graph, c, std::move(powers));
  return is_of_mask ? MakeDenseMask(mask->Dense().abs()) : std::move(mask);
}

std::vector<OptionSpec> SeriesOptions(std::int64_t degree) {
  return {Integer("degree", degree, 0, 1000, "largest power of W"),
          Number("rate", 0.01, 0, 100, "initial coefficients exp(-rate k)"), DegreesOption()};
}

MaskPtr NamedKernelMaskOf(const Options& options, const AttentionInputs& inputs) {
  const std::string& kernel = options.Chosen("kernel");
  ThrowIfError(CheckKernel(kernel, options.Real("scale")));
  const Graph graph = NonNegative(AdjacencyOf(inputs), "a named kernel");
  RequireUndirected(graph, "a named kernel");
  MaskPtr mask = MakeNamedKernelMask(SymmetricallyNormalised(graph), kernel, options.Real("scale"),
                                     static_cast<int>(options.Int("power")));
  return options.Is("positive", "mask") ? MakeDenseMask(mask->Dense().abs()) : std::move(mask);
}

NamedTensors DiffusionParameters(const Options& options, const AttentionInputs& inputs) {
  return {{"lambda", PerHead(inputs, options.Real("lambda"))}};
}

OptionSpec DiffusionTime() {
  return Number("lambda", 1, 0, 1e6, "initial time of diffusion; large values flatten");
}

OptionSpec ExponentialMethod() {
  return Word(
      "method", {"auto", "chebyshev", "taylor"},
      "of the fast product. taylor: entries of any size have their digits; chebyshev: fewer "
      "terms for long times; auto: taylor for short ones");
}

HeatMethod MethodOf(const Options& options) {
  if (options.Is("method", "chebyshev")) return HeatMethod::kChebyshev;
  return options.Is("method", "taylor") ? HeatMethod::kTaylor : HeatMethod::kAuto;
}

/// exp(b[hops]); what is out of reach or beyond max_distance has the last entry.
MaskPtr ShortestPathMask(const Options& options, const AttentionInputs& inputs) {
  const std::int64_t beyond = options.Int("max_distance") + 1;
  torch::Tensor hops = HopDistances(AdjacencyOf(inputs));
  hops = hops.masked_fill(hops < 0, beyond).clamp_max(beyond);
  const torch::Tensor bias = inputs.parameters.at("b").index_select(1, hops.flatten());
  return MakeDenseMask(at::exp(bias).reshape({-1, inputs.length(), inputs.length()}));
}

/// Adjacency and ones on the diagonal.
MaskPtr SelfLoopMask(const AttentionInputs& inputs) {
  const Graph graph = NonNegative(AdjacencyOf(inputs), "a mask");
  std::vector<std::int64_t> offsets{0}, indices, sources;
  for (std::int64_t i = 0; i < graph.size(); ++i) {
    indices.push_back(i);
    sources.push_back(0);
    for (std::int64_t e = graph.pattern->offsets[i]; e < graph.pattern->offsets[i + 1]; ++e) {
      indices.push_back(graph.pattern->indices[e]);
      sources.push_back(e + 1);
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  return MakePairMask(
      WithType({MakePattern(graph.size(), graph.size(), std::move(offsets), std::move(indices)),
                at::constant_pad_nd(graph.weights, {1, 0}, 1)
                    .index_select(1, at::tensor(sources, at::kLong))},
               inputs));
}

/// sin(pi / 4 (z_i + z_j)) = sin cos + cos sin.
MaskPtr CentralityMask(const Options& options, const AttentionInputs& inputs) {
  const Graph graph = AdjacencyOf(inputs);
  const Graph edges{graph.pattern, at::ones_like(graph.weights)};
  torch::Tensor degrees = options.Is("degrees", "in") ? InDegreesOf(edges) : DegreesOf(edges);
  if (options.Is("degrees", "sum")) degrees = degrees + InDegreesOf(edges);
  degrees = degrees.to(at::kLong).clamp_max(options.Int("max_degree"));
  const torch::Tensor angle =
      at::sigmoid(inputs.parameters.at("table").index_select(1, degrees)) * (M_PI / 4);
  const torch::Tensor sine = at::sin(angle), cosine = at::cos(angle);
  return MakeFactorMask({at::stack({sine, cosine}, 2), at::stack({cosine, sine}, 2)});
}

MaskPtr SketchMask(const Options& options, const AttentionInputs& inputs) {
  Graph graph = MaskGraphOf(inputs, options.Chosen("degrees"));
  RequireUndirected(graph, "a sketched power series (malpha_dense takes directed ones)");
  MaskPtr mask = MakeSketchedSeriesMask(std::move(graph), inputs.parameters.at("f"),
                                        inputs.parameters.at("projection"));
  return options.IsSet("abs") ? MakeDenseMask(mask->Dense().abs()) : std::move(mask);
}

}  // namespace

std::vector<MechanismInfo> GraphKernelMechanisms() {
  const std::vector<std::string> softmax_first{"softmax", "relu", "elu1", "square", "favor_pos"};
  return {
      Masked(
          {"fastmult",
           "M is the graph's matrix of weights itself, a mask with a fast product like any other.",
           "O(E m dv)",
           "gkat, Alg. 1",
           {"graph"},
           {},
           nullptr},
          {AlwaysWays({Way::kDense, Way::kPairs, Way::kFastmult}), nullptr,
           [](const Options&, const AttentionInputs& inputs) {
             return MakePairMask(
                 WithType(NonNegative(AdjacencyOf(inputs), "a mask").AsPairs(), inputs));
           }}),
      Masked(
          {"malpha_dense",
           "Power series of the graph's W: M = sum of alpha_k W^k, or, of undirected graphs, Phi "
           "Phi^T with Phi = sum of f_k W^k. W: the given weights, or 1 / sqrt(d_i d_j).",
           "dense O(L^2 (degree L + m + dv)); fastmult O(degree E m dv)",
           "grf-masking, Eq. 4 and Remark 3.1",
           {"graph"},
           Joined({Word("param", {"alpha", "f"}, "which coefficients are parameters"),
                   Flag("keep_powers", false,
                        "dense: powers of W of the last graph are kept for the next call on it, "
                        "(degree + 1) L^2 numbers"),
                   Word("positive", {"mask", "coefficients"},
                        "what is made positive by its absolute value; mask has no fast way")},
                  SeriesOptions(100)),
           nullptr},
          {[](const Options& options) {
             return options.Is("positive", "mask") ? std::vector<Way>{Way::kDense} : kProductWays;
           },
           &SeriesParameters, &SeriesMask}),
      Masked(
          {"named_kernel",
           "Kernels of the normalised Laplacian L: diffusion exp(-s^2 L / 2), "
           "regularised_laplacian (1 + s^2 L)^-p, p_step (s - L)^p, cosine cos(pi L / 4), "
           "resolvent (1 - s W)^-p. Entries of cosine may be negative.",
           "O(terms E m dv)",
           "general-grf, Table 1",
           {"graph"},
           {Word("kernel", {"diffusion", "regularised_laplacian", "p_step", "cosine", "resolvent"},
                 "which"),
            Number("scale", 1, 1e-3, 100, "s; at least 2 for p_step, below 1 for resolvent"),
            Integer("power", 1, 1, 8, "p"),
            Word("positive", {"none", "mask"},
                 "mask: absolute values of its entries, which have no fast way")},
           nullptr},
          {[](const Options& options) {
             return options.Is("positive", "mask") ? std::vector<Way>{Way::kDense} : kProductWays;
           },
           nullptr, &NamedKernelMaskOf}),
      Masked({"gdk",
              "Graph diffusion kernel exp(-lambda T), T the Laplacian, (Deg - Adj) Deg^-1 or -Adj.",
              "O(K E m dv), K near the larger of sqrt and lambda times the largest degree",
              "gkat, Sec. 4, Eq. 4 and Thm 4.1",
              {"graph"},
              {Word("operator", {"laplacian", "normalised", "neg_adjacency"}, "T"), DiffusionTime(),
               ExponentialMethod()},
              nullptr},
             {AlwaysWays(kProductWays), &DiffusionParameters,
              [](const Options& options, const AttentionInputs& inputs) {
                return MakeHeatMask(AdjacencyOf(inputs), options.Chosen("operator"),
                                    inputs.parameters.at("lambda").abs(), MethodOf(options));
              }}),
      Masked({"heat",
              "exp(lambda W) with W = Deg^-1/2 Adj Deg^-1/2.",
              "O(K E m dv), K near sqrt(lambda)",
              "grf-masking, App. B.4 (heat kernels)",
              {"graph"},
              {DiffusionTime(), ExponentialMethod()},
              nullptr},
             {AlwaysWays(kProductWays), &DiffusionParameters,
              [](const Options& options, const AttentionInputs& inputs) {
                return MakeHeatMask(AdjacencyOf(inputs), "heat",
                                    inputs.parameters.at("lambda").abs(), MethodOf(options));
              }}),
      Masked({"spd_bias",
              "Logits plus b of the number of hops of the shortest path.",
              "O(L^2 (m + dv) + L E)",
              "grf-masking, App. B.3 (Graphormer)",
              {"graph"},
              {Integer("max_distance", 16, 0, 4096,
                       "hops with a bias of their own; one more for all beyond"),
               Number("slope", -0.1, -100, 100, "initial b of l hops: slope l")},
              nullptr},
             {AlwaysWays({Way::kDense}),
              [](const Options& options, const AttentionInputs& inputs) {
                std::vector<double> b;
                for (std::int64_t l = 0; l <= options.Int("max_distance") + 1; ++l) {
                  b.push_back(options.Real("slope") * static_cast<double>(l));
                }
                return NamedTensors{{"b", PerHead(inputs, b)}};
              },
              &ShortestPathMask},
             softmax_first),
      Masked({"gat_mask",
              "M = Adj + 1: tokens see themselves and their neighbours.",
              "pairs O((L + E) (m + dv))",
              "gkat, Sec. 5.1 (GAT)",
              {"graph"},
              {},
              nullptr},
             {AlwaysWays({Way::kDense, Way::kPairs, Way::kFastmult}), nullptr,
              [](const Options&, const AttentionInputs& inputs) { return SelfLoopMask(inputs); }},
             softmax_first),
      Masked({"centrality",
              "M_ij = sin(pi / 4 (z_i + z_j)), z the sigmoid of a table by degree: of rank 2.",
              "O(L m dv)",
              "grf-masking, App. B.5",
              {"graph"},
              {Integer("max_degree", 32, 0, 1 << 20, "degrees above share the last entry"),
               Word("degrees", {"out", "in", "sum"}, "edges that are counted")},
              nullptr},
             {AlwaysWays({Way::kDense, Way::kFeatures, Way::kFastmult}),
              [](const Options& options, const AttentionInputs& inputs) {
                std::vector<double> table;
                for (std::int64_t k = 0; k <= options.Int("max_degree"); ++k) {
                  table.push_back(std::log1p(static_cast<double>(k)) - 1);
                }
                return NamedTensors{{"table", PerHead(inputs, table)}};
              },
              &CentralityMask}),
      Masked({"jlt",
              "Features of a power series of an undirected graph, Phi = sum of f_k W^k, projected "
              "to r random columns: M = P P^T. Without abs its entries may be negative.",
              "O(degree E r + L r m dv)",
              "grf-masking, Sec. 5 (future work)",
              {"graph"},
              Joined(SeriesOptions(10),
                     {Integer("rank", 32, 1, 4096, "random columns r"),
                      Flag("abs", true, "absolute values of the mask, which has no fast way"),
                      Integer("seed", 0, 0, INT64_MAX, "of all that is random")}),
              nullptr},
             {[](const Options& options) {
                return options.IsSet("abs")
                           ? std::vector<Way>{Way::kDense}
                           : std::vector<Way>{Way::kDense, Way::kFastmult, Way::kFeatures};
              },
              [](const Options& options, const AttentionInputs& inputs) {
                return NamedTensors{
                    {"f", FallingCoefficients(options, inputs)},
                    {"projection",
                     NormalMatrix(SeedOf(options, inputs), RandomStream::kRandomFeatures, 0xFFFF, 0,
                                  inputs.length(), options.Int("rank"))
                         .to(inputs.q.scalar_type())}};
              },
              &SketchMask}),
  };
}

}  // namespace interlacer::attention
