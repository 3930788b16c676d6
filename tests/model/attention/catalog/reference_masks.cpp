#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/graph/walk_sampler.h"
#include "tests/model/attention/catalog/reference.h"

namespace interlacer::testing {
namespace {

using Index = std::int64_t;

std::vector<Index> PlaceOf(Index token, const std::vector<Index>& grid) {
  std::vector<Index> place(grid.size());
  for (std::size_t a = grid.size(); a-- > 0;) {
    place[a] = token % grid[a];
    token /= grid[a];
  }
  return place;
}

Index GridDistance(const std::vector<Index>& a, const std::vector<Index>& b) {
  Index sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

double MadePositive(const ReferenceCase& of, double x) {
  if (of.Is("positivity", "abs")) return std::abs(x);
  if (of.Is("positivity", "exp")) return std::exp(x);
  if (of.Is("positivity", "softplus")) return std::log1p(std::exp(x));
  return x;
}

Matrix ToeplitzReference(const ReferenceCase& of) {
  const std::vector<Index>& grid = of.inputs.grid;
  Matrix mask(of.length(), of.length());
  for (std::size_t i = 0; i < of.length(); ++i) {
    for (std::size_t j = 0; j < of.length(); ++j) {
      const auto a = PlaceOf(static_cast<Index>(i), grid), b = PlaceOf(static_cast<Index>(j), grid);
      double value = 0;
      if (of.Is("offsets", "free")) {
        Index place = 0;
        for (std::size_t axis = 0; axis < grid.size(); ++axis) {
          place = place * (2 * grid[axis] - 1) + (a[axis] - b[axis] + grid[axis] - 1);
        }
        value = MadePositive(of, of.Parameter("b").entries[place]);
      } else if (of.Is("offsets", "l1_distance")) {
        value = MadePositive(of, of.Parameter("f").entries[GridDistance(a, b)]);
      } else {
        value = std::pow(std::abs(of.Number("gamma")), static_cast<double>(GridDistance(a, b)));
      }
      mask(i, j) = of.options.at("causal").get<bool>() && j > i ? 0 : value;
    }
  }
  return mask;
}

Matrix GridLaplacian(const ReferenceCase& of, bool is_torus) {
  const std::vector<Index>& grid = of.inputs.grid;
  Matrix laplacian(of.length(), of.length());
  for (std::size_t i = 0; i < of.length(); ++i) {
    const auto place = PlaceOf(static_cast<Index>(i), grid);
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      for (const int step : {-1, 1}) {
        auto next = place;
        next[axis] += step;
        if (is_torus) next[axis] = (next[axis] + grid[axis]) % grid[axis];
        if (next[axis] < 0 || next[axis] >= grid[axis]) continue;
        Index j = 0;
        for (std::size_t a = 0; a < grid.size(); ++a) j = j * grid[a] + next[a];
        laplacian(i, i) += 1;
        laplacian(i, static_cast<std::size_t>(j)) -= 1;
      }
    }
  }
  return laplacian;
}

/// Shortest paths by Floyd and Warshall; infinite where there is none.
Matrix ShortestPaths(Matrix lengths) {
  for (std::size_t m = 0; m < lengths.rows; ++m) {
    for (std::size_t i = 0; i < lengths.rows; ++i) {
      for (std::size_t j = 0; j < lengths.rows; ++j) {
        lengths(i, j) = std::min(lengths(i, j), lengths(i, m) + lengths(m, j));
      }
    }
  }
  return lengths;
}

Matrix NoPaths(std::size_t n) {
  Matrix lengths(n, n);
  std::fill(lengths.entries.begin(), lengths.entries.end(),
            std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) lengths(i, i) = 0;
  return lengths;
}

Matrix TreeLengths(const ReferenceCase& of, bool is_hops) {
  Matrix lengths = NoPaths(of.length());
  const Matrix weights = ToMatrix(of.inputs.tree.weights);
  for (std::size_t i = 0; i < of.length(); ++i) {
    const Index parent = of.inputs.tree.parents[static_cast<Index>(i)].item<Index>();
    if (parent == -1) continue;
    const auto p = static_cast<std::size_t>(parent);
    lengths(i, p) = lengths(p, i) = is_hops ? 1 : weights.entries[i];
  }
  return ShortestPaths(lengths);
}

std::vector<double> DegreesOf(const Matrix& adjacency) {
  std::vector<double> degrees(adjacency.rows, 0);
  for (std::size_t i = 0; i < adjacency.rows; ++i) {
    for (std::size_t j = 0; j < adjacency.rows; ++j) degrees[i] += adjacency(i, j);
  }
  return degrees;
}

Matrix Normalised(const Matrix& adjacency, const std::string& degrees_of = "out") {
  const auto degrees = DegreesOf(adjacency);
  const auto of_columns = degrees_of == "out_in" ? DegreesOf(Transposed(adjacency)) : degrees;
  Matrix w(adjacency.rows, adjacency.rows);
  for (std::size_t i = 0; i < w.rows; ++i) {
    for (std::size_t j = 0; j < w.rows; ++j) {
      if (adjacency(i, j) != 0) w(i, j) = adjacency(i, j) / std::sqrt(degrees[i] * of_columns[j]);
    }
  }
  return w;
}

Matrix Series(const Matrix& w, const std::vector<double>& c) {
  Matrix power = Identity(w.rows), sum(w.rows, w.rows);
  for (const double coefficient : c) {
    sum = Sum(sum, power, coefficient);
    power = Times(power, w);
  }
  return sum;
}

Matrix Absolute(Matrix a) {
  for (double& x : a.entries) x = std::abs(x);
  return a;
}

Matrix DiffusionReference(const ReferenceCase& of) {
  const Matrix adjacency = Adjacency(of.inputs);
  const auto degrees = DegreesOf(adjacency);
  Matrix t(adjacency.rows, adjacency.rows);
  for (std::size_t i = 0; i < t.rows; ++i) {
    for (std::size_t j = 0; j < t.rows; ++j) {
      t(i, j) = (i == j && !of.Is("operator", "neg_adjacency") ? degrees[i] : 0) - adjacency(i, j);
      if (of.Is("operator", "normalised")) t(i, j) = degrees[j] == 0 ? 0 : t(i, j) / degrees[j];
    }
  }
  return Exponential(Scaled(t, -std::abs(of.Number("lambda"))));
}

Matrix KernelReference(const ReferenceCase& of) {
  const Matrix w = Normalised(Adjacency(of.inputs));
  const Matrix one = Identity(w.rows);
  const Matrix laplacian = Sum(one, w, -1);
  const double s = of.Real("scale");
  const auto power = static_cast<int>(of.Real("power"));
  const auto raised = [&](const Matrix& base) {
    Matrix result = one;
    for (int p = 0; p < power; ++p) result = Times(result, base);
    return result;
  };
  if (of.Is("kernel", "diffusion")) return Exponential(Scaled(laplacian, -s * s / 2));
  if (of.Is("kernel", "regularised_laplacian")) {
    return Inverse(raised(Sum(one, laplacian, s * s)));
  }
  if (of.Is("kernel", "p_step")) return raised(Sum(Scaled(one, s), laplacian, -1));
  if (of.Is("kernel", "resolvent")) return Inverse(raised(Sum(one, w, -s)));
  // cos x = 1 - x^2 / 2 + x^4 / 24 - ...
  const Matrix x = Scaled(laplacian, M_PI / 4);
  Matrix term = one, sum = one;
  for (int k = 1; k < 30; ++k) {
    term = Scaled(Times(Times(term, x), x), -1.0 / ((2 * k - 1) * (2 * k)));
    sum = Sum(sum, term);
  }
  return sum;
}

Matrix ShortestPathReference(const ReferenceCase& of) {
  const Matrix adjacency = Adjacency(of.inputs);
  Matrix lengths = NoPaths(of.length());
  for (std::size_t i = 0; i < of.length(); ++i) {
    for (std::size_t j = 0; j < of.length(); ++j) {
      if (i != j && adjacency(i, j) != 0) lengths(i, j) = 1;
    }
  }
  lengths = ShortestPaths(lengths);
  const Matrix bias = of.Parameter("b");
  for (double& x : lengths.entries) {
    const double most = static_cast<double>(bias.entries.size() - 1);
    x = std::exp(bias.entries[static_cast<std::size_t>(std::min(x, most))]);
  }
  return lengths;
}

Matrix CentralityReference(const ReferenceCase& of) {
  const Matrix adjacency = Adjacency(of.inputs), table = of.Parameter("table");
  std::vector<double> z;
  for (std::size_t i = 0; i < of.length(); ++i) {
    std::size_t degree = 0;
    for (std::size_t j = 0; j < of.length(); ++j) {
      if (!of.Is("degrees", "in")) degree += adjacency(i, j) != 0 ? 1 : 0;
      if (!of.Is("degrees", "out")) degree += adjacency(j, i) != 0 ? 1 : 0;
    }
    z.push_back(1 / (1 + std::exp(-table.entries[std::min(degree, table.entries.size() - 1)])));
  }
  Matrix mask(of.length(), of.length());
  for (std::size_t i = 0; i < of.length(); ++i) {
    for (std::size_t j = 0; j < of.length(); ++j) mask(i, j) = std::sin(M_PI / 4 * (z[i] + z[j]));
  }
  return mask;
}

Matrix SketchReference(const ReferenceCase& of) {
  const Matrix g = ToMatrix(of.inputs.parameters.at("projection"));
  const Matrix p =
      Scaled(Times(Series(MaskWeights(of.inputs, of.Degrees()), of.Parameter("f").entries), g),
             1 / std::sqrt(static_cast<double>(g.columns)));
  const Matrix mask = Times(p, Transposed(p));
  return of.options.at("abs").get<bool>() ? Absolute(mask) : mask;
}

Matrix FrequencyReference(const ReferenceCase& of) {
  const Matrix adjacency = Adjacency(of.inputs);
  const auto degrees = DegreesOf(adjacency);
  Matrix hops(adjacency.rows, adjacency.rows);
  for (std::size_t i = 0; i < hops.rows; ++i) {
    for (std::size_t j = 0; j < hops.rows; ++j) {
      if (degrees[i] != 0) hops(i, j) = adjacency(i, j) / degrees[i];
    }
  }
  std::vector<double> c;
  const double base = std::abs(of.Number("lambda")) * (1 - of.Real("halt_probability"));
  for (int e = 0; e <= of.Real("hops"); ++e) c.push_back(std::pow(base, e));
  Matrix psi = Series(hops, c);
  for (std::size_t i = 0; i < psi.rows; ++i) {
    double square = 0;
    for (std::size_t j = 0; j < psi.rows; ++j) square += psi(i, j) * psi(i, j);
    for (std::size_t j = 0; j < psi.rows; ++j) {
      psi(i, j) /= std::pow(std::sqrt(square), of.Real("alpha"));
    }
  }
  return Times(psi, Transposed(psi));
}

Matrix SeriesReference(const ReferenceCase& of) {
  const bool is_alpha = of.Is("param", "alpha");
  std::vector<double> c = of.Parameter(is_alpha ? "alpha" : "f").entries;
  const bool is_of_mask = of.Is("positive", "mask");
  if (!is_of_mask) {
    for (double& x : c) x = std::abs(x);
  }
  const Matrix phi = Series(MaskWeights(of.inputs, of.Degrees()), c);
  const Matrix mask = is_alpha ? phi : Times(phi, Transposed(phi));
  return is_of_mask ? Absolute(mask) : mask;
}

std::vector<double> PositiveCoefficients(const ReferenceCase& of) {
  std::vector<double> f = of.Parameter("f").entries;
  for (double& x : f) {
    if (of.Is("positive", "coefficients")) x = std::abs(x);
    if (of.Is("positive", "softplus")) x = std::log1p(std::exp(x));
  }
  return f;
}

Matrix Finished(const ReferenceCase& of, Matrix mask) {
  for (double& x : mask.entries) {
    if (of.Is("positive", "mask")) x = std::abs(x);
    if (of.Real("floor") > 0) x = std::max(x, of.Real("floor"));
  }
  return mask;
}

std::optional<Matrix> WalkReference(const ReferenceCase& of, bool is_symmetric, bool has_weights) {
  // Other laws are tested by their means.
  if (of.Is("length_law", "uniform") || of.Is("length_law", "power")) return std::nullopt;
  const std::vector<double> f = PositiveCoefficients(of);
  const Matrix queries = WalkFeatures(of, f, 0, has_weights);
  if (!is_symmetric) return Finished(of, queries);
  const bool has_two = of.options.at("independent_qk_walks").get<bool>();
  const Matrix mask =
      Times(queries, Transposed(has_two ? WalkFeatures(of, f, 1, has_weights) : queries));
  return Finished(of, mask);
}

}  // namespace

Matrix Adjacency(const AttentionInputs& inputs) {
  const auto n = static_cast<std::size_t>(inputs.length());
  Matrix adjacency(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<Index>(i);
    for (Index e = inputs.graph.offsets[row].item<Index>();
         e < inputs.graph.offsets[row + 1].item<Index>(); ++e) {
      adjacency(i, static_cast<std::size_t>(inputs.graph.neighbors[e].item<Index>())) +=
          inputs.graph.weights.defined() ? inputs.graph.weights[e].item<double>() : 1;
    }
  }
  return adjacency;
}

Matrix MaskWeights(const AttentionInputs& inputs, const std::string& degrees) {
  const Matrix adjacency = Adjacency(inputs);
  return inputs.graph.weights.defined() ? adjacency : Normalised(adjacency, degrees);
}

Matrix WalkFeatures(const ReferenceCase& of, const std::vector<double>& f, std::uint32_t ensemble,
                    bool has_importance_weights) {
  const Matrix w = MaskWeights(of.inputs, of.Degrees());
  const auto n = static_cast<Index>(of.length());
  WeightedGraph graph;
  graph.n = n;
  graph.offsets = {0};
  for (std::size_t i = 0; i < w.rows; ++i) {
    const auto first = graph.neighbors.size();
    for (std::size_t j = 0; j < w.rows; ++j) {
      if (w(i, j) != 0) graph.neighbors.push_back(static_cast<std::int32_t>(j));
    }
    const auto degree = static_cast<double>(graph.neighbors.size() - first);
    for (std::size_t e = first; e < graph.neighbors.size(); ++e) {
      graph.weights.push_back(has_importance_weights
                                  ? w(i, static_cast<std::size_t>(graph.neighbors[e]))
                                  : (1 - of.Real("halt_probability")) / degree);
    }
    graph.offsets.push_back(static_cast<std::int32_t>(graph.neighbors.size()));
  }
  WalkSamplerOptions options;
  options.sampler = of.Is("sampler", "repelling")              ? WalkSampler::kRepelling
                    : of.Is("sampler", "antithetic")           ? WalkSampler::kAntithetic
                    : of.Is("sampler", "repelling_per_prefix") ? WalkSampler::kRepellingPerPrefix
                                                               : WalkSampler::kIid;
  options.walk_count = static_cast<int>(of.Real("walks"));
  options.max_hops = static_cast<int>(of.Real("hops"));
  options.halt_probability = of.Real("halt_probability");
  options.seed = of.options.at("seed").get<std::uint64_t>();
  if (of.options.value("walks_per_head", false)) {
    options.seed += static_cast<std::uint64_t>(of.head) * 0x9E3779B97F4A7C15ull;
  }
  options.ensemble = ensemble;
  options.antithetic_halting = of.options.value("antithetic_halting", false);
  const WalkLoads loads = SampleWalks(graph, options).value();
  Matrix features(w.rows, w.rows);
  for (std::size_t i = 0; i < w.rows; ++i) {
    for (std::int32_t e = loads.offsets[i]; e < loads.offsets[i + 1]; ++e) {
      for (std::size_t t = 0; t < f.size(); ++t) {
        features(i, static_cast<std::size_t>(loads.nodes[e])) +=
            f[t] * loads.loads[static_cast<std::size_t>(e) * f.size() + t];
      }
    }
  }
  return features;
}

std::optional<Matrix> ReferenceMask(const std::string& mechanism, const ReferenceCase& of) {
  const std::size_t n = of.length();
  Matrix mask(n, n);
  const auto fill = [&](const auto& entry) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) mask(i, j) = entry(i, j);
    }
    return mask;
  };
  const auto distance = [&](std::size_t i, std::size_t j) {
    return static_cast<double>(GridDistance(PlaceOf(static_cast<Index>(i), of.inputs.grid),
                                            PlaceOf(static_cast<Index>(j), of.inputs.grid)));
  };
  if (mechanism == "packing") {
    const Matrix ids = ToMatrix(of.inputs.segments.to(at::kDouble));
    return fill([&](auto i, auto j) { return ids.entries[i] == ids.entries[j] ? 1 : 0; });
  }
  if (mechanism == "linear_causal") return fill([](auto i, auto j) { return j <= i ? 1 : 0; });
  if (mechanism == "learned_features") {
    const Matrix phi = of.Parameter("phi");
    return Absolute(Times(phi, Transposed(phi)));
  }
  if (mechanism == "lowrank_mask") {
    return Times(Absolute(of.Parameter("m1")), Transposed(Absolute(of.Parameter("m2"))));
  }
  if (mechanism == "toeplitz_1d" || mechanism == "toeplitz_nd") return ToeplitzReference(of);
  if (mechanism == "tanh_distance") {
    const double base = std::tanh(std::abs(of.Number("lambda")));
    return fill([&](auto i, auto j) { return std::pow(base, distance(i, j)); });
  }
  if (mechanism == "gdk_grid" || mechanism == "gdk_hypercube") {
    const bool is_torus = mechanism == "gdk_grid" && of.options.at("torus").get<bool>();
    return Exponential(Scaled(GridLaplacian(of, is_torus), -std::abs(of.Number("lambda"))));
  }
  if (mechanism == "tree_affine") {
    const Matrix lengths = TreeLengths(of, false);
    return fill([&](auto i, auto j) {
      return std::isinf(lengths(i, j))
                 ? 0
                 : std::exp(of.Number("slope") * lengths(i, j) + of.Number("offset"));
    });
  }
  if (mechanism == "tree_any") {
    const Matrix lengths = TreeLengths(of, true), f = of.Parameter("f");
    return fill([&](auto i, auto j) {
      return std::isinf(lengths(i, j))
                 ? 0
                 : MadePositive(of, f.entries[static_cast<std::size_t>(lengths(i, j))]);
    });
  }
  if (mechanism == "fastmult") return Adjacency(of.inputs);
  if (mechanism == "gat_mask") return Sum(Adjacency(of.inputs), Identity(n));
  if (mechanism == "malpha_dense") return SeriesReference(of);
  if (mechanism == "named_kernel") {
    return of.Is("positive", "mask") ? Absolute(KernelReference(of)) : KernelReference(of);
  }
  if (mechanism == "softmax_pos") {
    const Matrix omega = of.Parameter("mask_omega");
    const auto features = [&](const Matrix& x) {
      Matrix mapped = Times(x, Transposed(omega));
      for (std::size_t i = 0; i < mapped.rows; ++i) {
        double square = 0;
        for (std::size_t c = 0; c < x.columns; ++c) square += x(i, c) * x(i, c);
        for (std::size_t a = 0; a < mapped.columns; ++a) {
          mapped(i, a) = std::exp(mapped(i, a) - square / 2);
        }
      }
      return mapped;
    };
    return Scaled(Times(features(of.Parameter("p")), Transposed(features(of.Parameter("s")))),
                  1 / static_cast<double>(omega.rows));
  }
  if (mechanism == "gdk") return DiffusionReference(of);
  if (mechanism == "heat") {
    return Exponential(Scaled(Normalised(Adjacency(of.inputs)), std::abs(of.Number("lambda"))));
  }
  if (mechanism == "spd_bias") return ShortestPathReference(of);
  if (mechanism == "centrality") return CentralityReference(of);
  if (mechanism == "jlt") return SketchReference(of);
  if (mechanism == "grf_exact")
    return Finished(of, Series(MaskWeights(of.inputs, of.Degrees()), PositiveCoefficients(of)));
  if (mechanism == "grf_asym") return WalkReference(of, false, true);
  if (mechanism == "grf_sym") return WalkReference(of, true, true);
  if (mechanism == "grf_adhoc") return WalkReference(of, of.Is("form", "symmetric"), false);
  if (mechanism == "rwgnk" || mechanism == "gkat" || mechanism == "gkat0") {
    // Samples are those of SampleWalks with hop probabilities as weights; theirs is another test.
    if (of.Is("estimator", "sampled")) return std::nullopt;
    return FrequencyReference(of);
  }
  return std::nullopt;
}

}  // namespace interlacer::testing
