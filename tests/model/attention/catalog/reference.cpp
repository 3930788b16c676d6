#include "tests/model/attention/catalog/reference.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace interlacer::testing {
namespace {

double Dot(const Matrix& a, std::size_t i, const Matrix& b, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < a.columns; ++c) sum += a(i, c) * b(j, c);
  return sum;
}

/// Rows of x times the rows of omega.
Matrix Projected(const Matrix& x, const Matrix& omega) { return Times(x, Transposed(omega)); }

Matrix Mapped(const ReferenceCase& of, const std::string& kind, Matrix x, bool is_scaled) {
  const bool has_omega = of.inputs.parameters.count("omega") > 0;
  const double d = static_cast<double>(x.columns);
  if (kind == "favor_pos") {
    if (is_scaled) x = Scaled(x, std::pow(d, -0.25));
    const Matrix y = Projected(x, of.Parameter("omega"));
    const bool is_hyperbolic = of.options.at("hyperbolic").get<bool>();
    Matrix features(x.rows, is_hyperbolic ? 2 * y.columns : y.columns);
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t a = 0; a < features.columns; ++a) {
        const double along = a < y.columns ? y(i, a) : -y(i, a - y.columns);
        features(i, a) = std::exp(along - Dot(x, i, x, i) / 2) /
                         std::sqrt(static_cast<double>(features.columns));
      }
    }
    return features;
  }
  if (kind == "rfa_gaussian" ||
      (kind == "rfa_arccos" && of.options.at("l2_normalise").get<bool>())) {
    for (std::size_t i = 0; i < x.rows; ++i) {
      const double length = std::sqrt(Dot(x, i, x, i));
      for (std::size_t c = 0; c < x.columns; ++c) x(i, c) /= length;
    }
  }
  if (has_omega) x = Projected(x, of.Parameter("omega"));
  if (kind == "rfa_gaussian") {
    Matrix features(x.rows, 2 * x.columns);
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t a = 0; a < x.columns; ++a) {
        features(i, a) = std::cos(x(i, a));
        features(i, x.columns + a) = std::sin(x(i, a));
      }
    }
    return features;
  }
  for (double& number : x.entries) {
    if (kind == "relu") number = std::max(number, 0.0) + of.Real("epsilon");
    if (kind == "elu1") number = number > 0 ? number + 1 : std::exp(number);
    if (kind == "square") number = number * number + of.Real("epsilon");
    if (kind == "rfa_arccos") number = std::max(number, 0.0);
  }
  return x;
}

Matrix ScoresOf(const ReferenceCase& of, const std::string& kind, const Matrix& q, const Matrix& k,
                bool is_scaled) {
  Matrix scores(q.rows, k.rows);
  const bool is_softmax = kind == "softmax";
  const Matrix a = is_softmax ? q : Mapped(of, kind, q, is_scaled);
  const Matrix b = is_softmax ? k : Mapped(of, kind, k, is_scaled);
  const double scale = is_scaled ? 1 / std::sqrt(static_cast<double>(q.columns)) : 1;
  for (std::size_t i = 0; i < q.rows; ++i) {
    for (std::size_t j = 0; j < k.rows; ++j) {
      scores(i, j) = is_softmax ? std::exp(Dot(a, i, b, j) * scale) : Dot(a, i, b, j);
    }
  }
  return scores;
}

Matrix Attended(const Matrix& weights, const Matrix& v, double delta) {
  Matrix out(v.rows, v.columns);
  for (std::size_t i = 0; i < v.rows; ++i) {
    double sum = delta;
    for (std::size_t j = 0; j < v.rows; ++j) {
      sum += weights(i, j);
      for (std::size_t c = 0; c < v.columns; ++c) out(i, c) += weights(i, j) * v(j, c);
    }
    for (std::size_t c = 0; c < v.columns; ++c) out(i, c) = sum == 0 ? 0 : out(i, c) / sum;
  }
  return out;
}

Matrix EntryByEntry(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] *= b.entries[i];
  return a;
}

std::string KindOf(const std::string& mechanism, const ReferenceCase& of) {
  if (of.options.contains("score")) return of.options.at("score").get<std::string>();
  if (mechanism.rfind("linear_", 0) == 0) return mechanism.substr(7);
  return mechanism == "gkat" ? "favor_pos" : mechanism;
}

struct Tokens {
  Matrix q, k, v;
  std::vector<bool> is_kept;

  /// Without the first `count`.
  Tokens After(std::size_t count) const {
    const auto rest = [count](const Matrix& x) {
      Matrix after(x.rows - count, x.columns);
      std::copy(x.entries.begin() + static_cast<std::ptrdiff_t>(count * x.columns), x.entries.end(),
                after.entries.begin());
      return after;
    };
    return {rest(q),
            rest(k),
            rest(v),
            {is_kept.begin() + static_cast<std::ptrdiff_t>(count), is_kept.end()}};
  }
};

std::size_t ClassTokensOf(const ReferenceCase& of) {
  return of.options.value("class_tokens", std::size_t{0});
}

/// Rows and columns of ones before a mask's.
Matrix Bordered(const ReferenceCase& of, const Matrix& mask) {
  const std::size_t count = ClassTokensOf(of);
  Matrix result(mask.rows + count, mask.columns + count);
  for (double& x : result.entries) x = 1;
  for (std::size_t i = 0; i < mask.rows; ++i) {
    for (std::size_t j = 0; j < mask.columns; ++j) result(i + count, j + count) = mask(i, j);
  }
  return result;
}

double LeakyRelu(double x) { return x > 0 ? x : 0.2 * x; }

Matrix AdditiveScores(const ReferenceCase& of, const Tokens& tokens) {
  const Matrix left = of.Parameter("a_left"), right = of.Parameter("a_right");
  Matrix scores(tokens.q.rows, tokens.q.rows);
  for (std::size_t i = 0; i < scores.rows; ++i) {
    for (std::size_t j = 0; j < scores.rows; ++j) {
      scores(i, j) = std::exp(LeakyRelu(Dot(tokens.q, i, left, 0) + Dot(tokens.k, j, right, 0)));
    }
  }
  return scores;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Of every token by a layer of its q, k and v, one row; padding forgets nothing.
Matrix GatesOfTokens(const ReferenceCase& of, const Tokens& tokens) {
  const Matrix weight = of.Parameter("gate_weight");
  Matrix gates(1, tokens.q.rows);
  for (std::size_t i = 0; i < gates.columns; ++i) {
    double sum = of.Number("gate_bias");
    std::size_t place = 0;
    for (const Matrix* part : {&tokens.q, &tokens.k, &tokens.v}) {
      for (std::size_t c = 0; c < part->columns; ++c) sum += weight(0, place++) * (*part)(i, c);
    }
    gates(0, i) = tokens.is_kept[i] ? Sigmoid(sum) : 1;
  }
  return gates;
}

/// Recursion over tokens, as it is written.
Matrix GatedReference(const ReferenceCase& of, const Tokens& tokens, const Matrix& gates) {
  const std::string kind = of.options.at("score").get<std::string>();
  const Matrix q = Mapped(of, kind, tokens.q, true), k = Mapped(of, kind, tokens.k, true);
  Matrix state(q.columns, tokens.v.columns), out(tokens.v.rows, tokens.v.columns);
  std::vector<double> z(q.columns, 0);
  for (std::size_t i = 0; i < q.rows; ++i) {
    const double g = gates.entries[i];
    for (std::size_t a = 0; a < q.columns; ++a) {
      const double added = tokens.is_kept[i] ? (1 - g) * k(i, a) : 0;
      z[a] = g * z[a] + added;
      for (std::size_t c = 0; c < out.columns; ++c) {
        state(a, c) = g * state(a, c) + added * tokens.v(i, c);
      }
    }
    double sum = of.options.value("delta", 0.0);
    for (std::size_t a = 0; a < q.columns; ++a) sum += q(i, a) * z[a];
    for (std::size_t c = 0; c < out.columns; ++c) {
      for (std::size_t a = 0; a < q.columns; ++a) out(i, c) += q(i, a) * state(a, c);
      out(i, c) = sum == 0 ? 0 : out(i, c) / sum;
    }
  }
  return out;
}

Matrix ConvolutionReference(const ReferenceCase& of, const Tokens& tokens, bool is_chebyshev) {
  const Matrix adjacency = Adjacency(of.inputs);
  Matrix w(adjacency.rows, adjacency.rows), values = tokens.v;
  const bool has_in_degrees = of.Degrees() == "out_in";
  std::vector<double> degrees(w.rows, 0), of_columns(w.rows, 0);
  for (std::size_t i = 0; i < w.rows; ++i) {
    for (std::size_t j = 0; j < w.rows; ++j) {
      degrees[i] += adjacency(i, j);
      of_columns[i] += has_in_degrees ? adjacency(j, i) : adjacency(i, j);
    }
    for (std::size_t c = 0; c < values.columns; ++c) {
      if (!tokens.is_kept[i]) values(i, c) = 0;
    }
  }
  for (std::size_t i = 0; i < w.rows; ++i) {
    for (std::size_t j = 0; j < w.rows; ++j) {
      if (adjacency(i, j) != 0) w(i, j) = adjacency(i, j) / std::sqrt(degrees[i] * of_columns[j]);
    }
  }
  Matrix sum;
  if (is_chebyshev) {
    // T_0 = 1, T_1 = x, T_2 = 2 x^2 - 1 of x = L - 1 = -W.
    const Matrix x = Scaled(w, -1);
    std::vector<Matrix> t{Identity(w.rows), x};
    while (t.size() <= static_cast<std::size_t>(of.Real("order"))) {
      t.push_back(Sum(Scaled(Times(x, t.back()), 2), t[t.size() - 2], -1));
    }
    sum = Matrix(values.rows, values.columns);
    for (std::size_t k = 0; k <= static_cast<std::size_t>(of.Real("order")); ++k) {
      sum = Sum(sum,
                Times(Times(t[k], values), of.Parameter(("weight_" + std::to_string(k)).c_str())));
    }
  } else {
    sum = Times(Times(w, values), of.Parameter("weight_0"));
  }
  const Matrix bias = of.Parameter("bias");
  for (std::size_t i = 0; i < sum.rows; ++i) {
    for (std::size_t c = 0; c < sum.columns; ++c) {
      sum(i, c) += bias.entries[c];
      if (of.options.at("relu").get<bool>()) sum(i, c) = std::max(sum(i, c), 0.0);
    }
  }
  return sum;
}

/// Psi Psi^T of hops with probabilities in proportion to edges times scores.
Matrix DynamicMask(const ReferenceCase& of, const Tokens& tokens, const Matrix& edges,
                   const Matrix& scores) {
  Matrix hops(edges.rows, edges.rows);
  for (std::size_t i = 0; i < hops.rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < hops.rows; ++j) {
      if (!tokens.is_kept[j]) continue;
      hops(i, j) = edges(i, j) * scores(i, j);
      sum += hops(i, j);
    }
    for (std::size_t j = 0; j < hops.rows && sum != 0; ++j) hops(i, j) /= sum;
  }
  const double base = std::abs(of.Number("lambda")) * (1 - of.Real("halt_probability"));
  Matrix power = Identity(hops.rows), psi = power;
  for (int e = 0; e < of.Real("hops"); ++e) {
    power = Scaled(Times(power, hops), base);
    psi = Sum(psi, power);
  }
  for (std::size_t i = 0; i < psi.rows; ++i) {
    const double length = std::sqrt(Dot(psi, i, psi, i));
    for (std::size_t j = 0; j < psi.columns; ++j) {
      psi(i, j) /= std::pow(length, of.Real("walk_alpha"));
    }
  }
  return Times(psi, Transposed(psi));
}

/// f(r_i - r_j) as the sum over samples of g / (r p) cos(2 pi xi (r_i - r_j)).
Matrix FourierLogits(const std::string& mechanism, const ReferenceCase& of) {
  const Matrix xi = ToMatrix(of.inputs.parameters.at("xi"));
  const Matrix places = ToMatrix(of.inputs.positions);
  Matrix logits(places.rows, places.rows);
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  double unit = 1, scale = 1;
  std::string proposal = of.options.at("proposal").get<std::string>();
  if (mechanism == "flt_shift_invariant") {
    unit = 1 / (2 * M_PI * of.Real("width"));
    if (of.options.at("learn_width").get<bool>()) {
      scale = std::max(softplus(of.Number("scale")), 0.75);
    }
    if (proposal == "kernel") {
      proposal = of.Is("kernel", "gaussian")  ? "normal"
                 : of.Is("kernel", "laplace") ? "cauchy"
                                              : "laplace";
    }
  }
  for (std::size_t s = 0; s < xi.rows; ++s) {
    double density = 1, square = 0, real = 0, imaginary = 0;
    for (std::size_t a = 0; a < xi.columns; ++a) {
      const double x = xi(s, a);
      square += x * x;
      const double extent = of.Real("extent");
      if (proposal == "uniform") density /= 2 * extent;
      if (proposal == "cauchy") density /= M_PI * (1 + x * x);
      if (proposal == "laplace") density *= std::exp(-std::abs(x)) / 2;
      if (proposal == "normal") density *= std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
      if (proposal == "truncated_normal") {
        density *= std::exp(-x * x / 2) / std::sqrt(2 * M_PI) / std::erf(extent / std::sqrt(2));
      }
    }
    if (mechanism == "flt_gm") {
      for (std::size_t t = 0; t < static_cast<std::size_t>(of.Real("terms")); ++t) {
        const double width = std::clamp(softplus(of.Parameter("width").entries[t]), 0.05, 0.9);
        double apart = 0;
        for (std::size_t a = 0; a < xi.columns; ++a) {
          apart += std::pow(xi(s, a) - of.Parameter("center")(t, a), 2);
        }
        const double bell = std::exp(-apart / (2 * width * width));
        real += of.Parameter("weight").entries[t] * bell;
        if (of.options.at("complex_g").get<bool>()) {
          imaginary += of.Parameter("weight_imaginary").entries[t] * bell;
        }
      }
    } else if (mechanism == "flt_gauss3d") {
      for (std::size_t t = 0; t < static_cast<std::size_t>(of.Real("terms")); ++t) {
        const double width = softplus(of.Parameter("width").entries[t]);
        real +=
            of.Parameter("weight").entries[t] * std::exp(-2 * M_PI * M_PI * width * width * square);
      }
    } else if (mechanism == "flt_shift_invariant") {
      real = of.Number("c");
      for (std::size_t a = 0; a < xi.columns; ++a) {
        const double x = scale * xi(s, a);
        real *= scale;
        if (of.Is("kernel", "gaussian")) real *= std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
        if (of.Is("kernel", "laplace")) real *= 1 / (M_PI * (1 + x * x));
        if (of.Is("kernel", "cauchy")) real *= std::exp(-std::abs(x)) / 2;
      }
    } else if (mechanism == "flt_local") {
      for (std::size_t t = 0; t < static_cast<std::size_t>(of.Real("terms")); ++t) {
        real += of.Parameter("weight").entries[t] *
                std::sin(2 * M_PI * of.Parameter("radius").entries[t] * xi(s, 0)) /
                (M_PI * xi(s, 0));
      }
    } else {
      const int order = of.options.contains("order") ? of.options.at("order")[0].get<int>() : 1;
      for (std::size_t t = 0; t < static_cast<std::size_t>(of.Real("terms")); ++t) {
        double term = of.Parameter("weight").entries[t];
        for (std::size_t a = 0; a < xi.columns; ++a) {
          const double ratio =
              std::sin(2 * M_PI * of.Parameter("radius")(t, a) / order * xi(s, a)) /
              (M_PI * xi(s, a));
          term *= std::pow(ratio, order);
        }
        real += term;
      }
    }
    for (std::size_t i = 0; i < places.rows; ++i) {
      for (std::size_t j = 0; j < places.rows; ++j) {
        double turns = 0;
        for (std::size_t a = 0; a < xi.columns; ++a) {
          turns += xi(s, a) * (places(i, a) - places(j, a)) * unit;
        }
        logits(i, j) +=
            (real * std::cos(2 * M_PI * turns) - imaginary * std::sin(2 * M_PI * turns)) /
            (density * static_cast<double>(xi.rows));
      }
    }
  }
  return logits;
}

/// q_i = sum over channels of q_ic Q_c(i) / (R^1/2 d^1/4), k likewise, from the noise.
std::pair<Matrix, Matrix> StochasticCodes(const std::string& mechanism, const ReferenceCase& of,
                                          const Tokens& tokens) {
  const auto wide = static_cast<std::size_t>(of.Real("realizations"));
  const std::size_t d = tokens.q.columns;
  const double scale =
      1 / (std::sqrt(static_cast<double>(wide)) * std::pow(static_cast<double>(d), 0.25));
  Matrix q(tokens.q.rows, wide), k(tokens.q.rows, wide);
  const auto channel = [&](const char* name, std::size_t c) {
    return ToMatrix(of.inputs.parameters.at(name)[of.head][static_cast<std::int64_t>(c)]);
  };
  for (std::size_t c = 0; c < d; ++c) {
    const Matrix noise = channel("noise", c);
    Matrix of_q(q.rows, wide), of_k(q.rows, wide);
    for (std::size_t i = 0; i < q.rows; ++i) {
      for (std::size_t r = 0; r < wide; ++r) {
        if (mechanism == "spe_conv") {
          // The kernel of offsets i - j = p - P / 2 is taps[p]; P places of noise before the first.
          const Matrix taps = channel("taps", c);
          const std::size_t count = taps.entries.size();
          for (std::size_t p = 0; p < count; ++p) {
            of_q(i, r) += taps.entries[p] * noise(count + i + count / 2 - p, r);
          }
          of_k(i, r) = noise(count + i, r);
          continue;
        }
        const Matrix frequency = channel("frequency", c), phase = channel("phase", c),
                     amplitude = channel("amplitude", c);
        const std::size_t count = frequency.entries.size();
        for (std::size_t s = 0; s < count; ++s) {
          const double angle = 2 * M_PI * frequency.entries[s] * static_cast<double>(i);
          const auto wave = [&](double at) {
            return amplitude.entries[s] *
                   (std::cos(at) * noise(s, r) + std::sin(at) * noise(count + s, r));
          };
          of_q(i, r) += wave(angle + phase.entries[s]);
          of_k(i, r) += wave(angle);
        }
      }
    }
    if (of.options.at("gated").get<bool>()) {
      const double gate = 1 / (1 + std::exp(-of.Parameter("gate").entries[c]));
      const Matrix shared = channel("shared_noise", c);
      for (Matrix* code : {&of_q, &of_k}) {
        for (std::size_t i = 0; i < q.rows; ++i) {
          for (std::size_t r = 0; r < wide; ++r) {
            (*code)(i, r) = std::sqrt(gate) * (*code)(i, r) + std::sqrt(1 - gate) * shared(0, r);
          }
        }
      }
    }
    for (std::size_t i = 0; i < q.rows; ++i) {
      for (std::size_t r = 0; r < wide; ++r) {
        q(i, r) += scale * tokens.q(i, c) * of_q(i, r);
        k(i, r) += scale * tokens.k(i, c) * of_k(i, r);
      }
    }
  }
  return {q, k};
}

/// Queries [code, q, 0] and keys [code, 0, k], those of class tokens [0, 0, q] and [0, k, k], with
/// q and k over d^1/4.
std::pair<Matrix, Matrix> WithClassCodes(const ReferenceCase& of, const Tokens& tokens,
                                         const Matrix& code_q, const Matrix& code_k) {
  const std::size_t count = ClassTokensOf(of), wide = code_q.columns, d = tokens.q.columns;
  if (count == 0) return {code_q, code_k};
  const double scale = std::pow(static_cast<double>(d), -0.25);
  Matrix q(tokens.q.rows, wide + 2 * d), k(tokens.k.rows, wide + 2 * d);
  for (std::size_t i = 0; i < q.rows; ++i) {
    const bool is_class = i < count;
    for (std::size_t r = 0; r < wide && !is_class; ++r) {
      q(i, r) = code_q(i - count, r);
      k(i, r) = code_k(i - count, r);
    }
    for (std::size_t c = 0; c < d; ++c) {
      q(i, wide + (is_class ? d : 0) + c) = scale * tokens.q(i, c);
      k(i, wide + d + c) = scale * tokens.k(i, c);
      if (is_class) k(i, wide + c) = scale * tokens.k(i, c);
    }
  }
  return {q, k};
}

/// Phi with rows divided by their sums, times strength, added to x.
Matrix SmoothedReference(const ReferenceCase& of, const Matrix& phi, const Matrix& x,
                         const std::vector<bool>& is_kept) {
  Matrix means = phi;
  for (std::size_t i = 0; i < phi.rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < phi.rows; ++j) {
      if (!is_kept[j]) means(i, j) = 0;
      sum += means(i, j);
    }
    if (!of.options.at("normalise").get<bool>() || sum == 0) continue;
    for (std::size_t j = 0; j < phi.rows; ++j) means(i, j) /= sum;
  }
  return Sum(x, Times(means, x), of.Real("strength"));
}

/// Weights of every pair before masked keys are left out; nothing where there is another form.
std::optional<Matrix> WeightsOf(const std::string& mechanism, const ReferenceCase& of,
                                const Tokens& tokens, std::int64_t batch) {
  const auto scores = [&](const std::string& kind) {
    return ScoresOf(of, kind, tokens.q, tokens.k, true);
  };
  if (mechanism == "softmax") {
    return ScoresOf(of, "softmax", tokens.q, tokens.k, of.options.at("scale").get<bool>());
  }
  if (mechanism == "softmax_masked") {
    Matrix mask = ToMatrix(of.inputs.mask[of.head]);
    for (double& x : mask.entries) {
      x = of.Is("mask_into_logits", "additive") ? std::exp(x) : std::max(x, of.Real("floor"));
    }
    return EntryByEntry(scores("softmax"), mask);
  }
  if (mechanism == "gat") {
    Matrix mask = Sum(Adjacency(of.inputs), Identity(of.length()));
    for (double& x : mask.entries) x = x != 0 ? 1 : 0;
    return EntryByEntry(AdditiveScores(of, tokens), Bordered(of, mask));
  }
  if (mechanism == "gkat0") {
    const auto mask = ReferenceMask(mechanism, of);
    if (!mask) return std::nullopt;
    return EntryByEntry(of.Is("score", "dot") ? scores("softmax") : AdditiveScores(of, tokens),
                        Bordered(of, *mask));
  }
  if (mechanism == "gkat_dynamic") {
    const Tokens placed = tokens.After(ClassTokensOf(of));
    const std::string kind = KindOf(mechanism, of);
    const bool is_product = of.Is("dynamic", "product");
    if (!is_product && of.Is("estimator", "sampled")) return std::nullopt;
    const auto edges = is_product ? ReferenceMask("rwgnk", of) : Adjacency(of.inputs);
    if (!edges) return std::nullopt;
    return EntryByEntry(
        scores(kind), Bordered(of, DynamicMask(of, placed, *edges,
                                               ScoresOf(of, is_product ? kind : "softmax", placed.q,
                                                        placed.k, true))));
  }
  if (mechanism == "smooth_a" || mechanism == "smooth_b") {
    const bool is_b = mechanism == "smooth_b";
    const Matrix phi = WalkFeatures(
        of, std::vector<double>(static_cast<std::size_t>(of.Real("hops")) + 1, 1), 0, true);
    const Tokens placed = tokens.After(ClassTokensOf(of));
    // Class tokens stay as they are.
    const auto smoothed = [&](Matrix all, const Matrix& x) {
      const Matrix rows = SmoothedReference(of, phi, x, placed.is_kept);
      std::copy(rows.entries.begin(), rows.entries.end(),
                all.entries.end() - static_cast<std::ptrdiff_t>(rows.entries.size()));
      return all;
    };
    const Matrix q = smoothed(tokens.q, placed.q);
    const Matrix k = is_b ? smoothed(tokens.k, placed.k) : tokens.k;
    const Matrix plain = ScoresOf(of, "relu", q, k, true);
    if (!is_b) return plain;
    Matrix mask = Times(phi, Transposed(phi));
    if (of.options.at("normalise").get<bool>()) {
      for (std::size_t i = 0; i < mask.rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < mask.rows; ++j) sum += mask(i, j);
        for (std::size_t j = 0; j < mask.rows && sum != 0; ++j) mask(i, j) /= sum;
      }
    }
    return EntryByEntry(plain, Bordered(of, mask));
  }
  if (mechanism.rfind("flt_", 0) == 0 && of.Is("score", "softmax")) {
    Matrix weights = FourierLogits(mechanism, of);
    for (double& x : weights.entries) x = std::exp(x);
    return EntryByEntry(scores("softmax"), Bordered(of, weights));
  }
  if (const auto mask = ReferenceMask(mechanism, of)) {
    const std::string kind = mechanism == "linear_causal"
                                 ? of.options.at("score").get<std::string>()
                                 : KindOf(mechanism, of);
    return EntryByEntry(scores(kind), Bordered(of, *mask));
  }
  if (mechanism == "spe_conv" || mechanism == "spe_sine") {
    const std::size_t count = ClassTokensOf(of);
    const auto [q, k] = StochasticCodes(mechanism, of, tokens.After(count));
    if (!of.Is("score", "softmax")) {
      const auto [wide_q, wide_k] = WithClassCodes(of, tokens, q, k);
      return ScoresOf(of, "favor_pos", wide_q, wide_k, false);
    }
    // Class tokens know no places: theirs are the scores of softmax.
    Matrix weights = scores("softmax");
    for (std::size_t i = 0; i < q.rows; ++i) {
      for (std::size_t j = 0; j < k.rows; ++j) {
        weights(i + count, j + count) = std::exp(Dot(q, i, k, j));
      }
    }
    return weights;
  }
  if (of.inputs.parameters.empty() || mechanism == "padding" || mechanism == "favor_pos" ||
      mechanism.rfind("rfa_", 0) == 0 || mechanism.rfind("linear_", 0) == 0) {
    static_cast<void>(batch);
    return scores(KindOf(mechanism, of));
  }
  return std::nullopt;
}

std::optional<Matrix> OutputOf(const std::string& mechanism, const ReferenceCase& of,
                               const Tokens& tokens, std::int64_t batch) {
  if (mechanism == "rfa_gated") {
    return GatedReference(of, tokens, ToMatrix(of.inputs.gates[batch][of.head]));
  }
  if (mechanism == "rfa_self_gated") {
    return GatedReference(of, tokens, GatesOfTokens(of, tokens));
  }
  if (mechanism == "gcn" || mechanism == "sgc") {
    return ConvolutionReference(of, tokens, mechanism == "sgc");
  }
  auto weights = WeightsOf(mechanism, of, tokens, batch);
  if (!weights) return std::nullopt;
  // Those with a mask of their own have it in there.
  const bool is_causal = (mechanism.starts_with("flt_") || mechanism.starts_with("spe_")) &&
                         of.options.value("causal", false);
  for (std::size_t i = 0; i < weights->rows; ++i) {
    for (std::size_t j = 0; j < weights->columns; ++j) {
      if (!tokens.is_kept[j] || (is_causal && j > i)) (*weights)(i, j) = 0;
    }
  }
  Matrix out = Attended(*weights, tokens.v, of.options.value("delta", 0.0));
  if (of.options.contains("elu") && of.options.at("elu").get<bool>()) {
    for (double& x : out.entries) x = x > 0 ? x : std::expm1(x);
  }
  return out;
}

}  // namespace

Matrix Identity(std::size_t n) {
  Matrix one(n, n);
  for (std::size_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

Matrix Times(const Matrix& a, const Matrix& b) {
  Matrix product(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t l = 0; l < a.columns; ++l) {
      for (std::size_t j = 0; j < b.columns; ++j) product(i, j) += a(i, l) * b(l, j);
    }
  }
  return product;
}

Matrix Transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}

Matrix Sum(const Matrix& a, const Matrix& b, double scale_b) {
  Matrix sum = a;
  for (std::size_t i = 0; i < sum.entries.size(); ++i) sum.entries[i] += scale_b * b.entries[i];
  return sum;
}

Matrix Scaled(Matrix a, double scale) {
  for (double& x : a.entries) x *= scale;
  return a;
}

Matrix Inverse(Matrix a) {
  Matrix inverse = Identity(a.rows);
  for (std::size_t c = 0; c < a.rows; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < a.rows; ++r) {
      if (std::abs(a(r, c)) > std::abs(a(pivot, c))) pivot = r;
    }
    for (std::size_t j = 0; j < a.rows; ++j) {
      std::swap(a(c, j), a(pivot, j));
      std::swap(inverse(c, j), inverse(pivot, j));
    }
    const double scale = 1 / a(c, c);
    for (std::size_t j = 0; j < a.rows; ++j) {
      a(c, j) *= scale;
      inverse(c, j) *= scale;
    }
    for (std::size_t r = 0; r < a.rows; ++r) {
      if (r == c) continue;
      const double factor = a(r, c);
      for (std::size_t j = 0; j < a.rows; ++j) {
        a(r, j) -= factor * a(c, j);
        inverse(r, j) -= factor * inverse(c, j);
      }
    }
  }
  return inverse;
}

Matrix Exponential(const Matrix& a) {
  constexpr int kHalvings = 12;
  const Matrix small = Scaled(a, std::pow(0.5, kHalvings));
  Matrix term = Identity(a.rows), sum = term;
  for (int k = 1; k < 20; ++k) {
    term = Scaled(Times(term, small), 1.0 / k);
    sum = Sum(sum, term);
  }
  for (int s = 0; s < kHalvings; ++s) sum = Times(sum, sum);
  return sum;
}

Matrix ToMatrix(const torch::Tensor& tensor) {
  const torch::Tensor x = tensor.to(at::kDouble).contiguous();
  Matrix matrix(x.dim() < 2 ? 1 : static_cast<std::size_t>(x.size(0)),
                x.dim() == 0 ? 1 : static_cast<std::size_t>(x.size(-1)));
  std::copy_n(x.const_data_ptr<double>(), matrix.entries.size(), matrix.entries.begin());
  return matrix;
}

Matrix ReferenceCase::Parameter(const char* name) const {
  return ToMatrix(inputs.parameters.at(name)[head]);
}

std::optional<torch::Tensor> ReferenceAttention(const std::string& mechanism,
                                                const AttentionInputs& inputs,
                                                const nlohmann::json& options) {
  // Random features are divided by their largest before delta is added.
  const std::string kind = options.value("score", mechanism);
  const bool is_divided = kind == "favor_pos" || kind.rfind("rfa_", 0) == 0 || kind == "gkat";
  if (options.value("delta", 0.0) > 0 && is_divided) return std::nullopt;
  const AttentionInputs placed = inputs.Placed(options.value("class_tokens", 0));
  torch::Tensor out = at::zeros(inputs.v.sizes(), at::kDouble);
  for (std::int64_t b = 0; b < inputs.batch(); ++b) {
    for (std::int64_t h = 0; h < inputs.heads(); ++h) {
      Tokens tokens{
          ToMatrix(inputs.q[b][h]), ToMatrix(inputs.k[b][h]), ToMatrix(inputs.v[b][h]), {}};
      for (std::int64_t i = 0; i < inputs.length(); ++i) {
        tokens.is_kept.push_back(!inputs.key_mask.defined() ||
                                 inputs.key_mask[b][i].item<double>() != 0);
      }
      const auto result = OutputOf(mechanism, {placed, options, h}, tokens, b);
      if (!result) return std::nullopt;
      for (std::size_t i = 0; i < result->rows; ++i) {
        for (std::size_t c = 0; c < result->columns && tokens.is_kept[i]; ++c) {
          out[b][h][static_cast<std::int64_t>(i)][static_cast<std::int64_t>(c)] = (*result)(i, c);
        }
      }
    }
  }
  return out;
}

}  // namespace interlacer::testing
