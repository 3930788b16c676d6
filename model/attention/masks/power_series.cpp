#include "model/attention/masks/power_series.h"

#include <ATen/Functions.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "common/check.h"
#include "common/number_text.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

constexpr int kMaxCoefficients = 4096;

/// sum of c_k W^k x by Horner's rule; c [H,K+1], x [H,L,C] float64.
torch::Tensor Horner(const Graph& graph, const torch::Tensor& c, const torch::Tensor& x,
                     bool is_transposed = false) {
  torch::Tensor sum = c.slice(1, c.size(1) - 1).unsqueeze(2) * x;
  for (std::int64_t k = c.size(1) - 2; k >= 0; --k) {
    sum = HeadwiseProduct(graph.pattern, graph.weights, sum, is_transposed) +
          c.slice(1, k, k + 1).unsqueeze(2) * x;
  }
  return sum;
}

/// Adds powers one by one, or those that are there: [H,L,L].
torch::Tensor DenseSeries(const Graph& graph, const torch::Tensor& c,
                          const PowersOfGraph& powers = nullptr) {
  if (powers) return at::tensordot(c, powers(), {1}, {0});
  const torch::Tensor w = DenseOf(graph);
  torch::Tensor power = at::eye(w.size(0), w.options());
  torch::Tensor sum = c.slice(1, 0, 1).unsqueeze(2) * power;
  for (std::int64_t k = 1; k < c.size(1); ++k) {
    power = at::matmul(power, w);
    sum = sum + c.slice(1, k, k + 1).unsqueeze(2) * power;
  }
  return sum;
}

class PowerSeriesMask : public Mask {
 public:
  PowerSeriesMask(Graph graph, const torch::Tensor& alpha, PowersOfGraph powers)
      : graph_(std::move(graph)), alpha_(alpha.to(at::kDouble)), powers_(std::move(powers)) {}
  torch::Tensor Dense() const override { return DenseSeries(graph_, alpha_, powers_); }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    return Horner(graph_, alpha_, x.to(at::kDouble)).to(x.scalar_type());
  }

 private:
  Graph graph_;
  torch::Tensor alpha_;
  PowersOfGraph powers_;
};

class SquaredSeriesMask : public Mask {
 public:
  SquaredSeriesMask(Graph graph, const torch::Tensor& f, PowersOfGraph powers)
      : graph_(std::move(graph)), f_(f.to(at::kDouble)), powers_(std::move(powers)) {}
  torch::Tensor Dense() const override {
    const torch::Tensor phi = DenseSeries(graph_, f_, powers_);
    return at::matmul(phi, phi.transpose(1, 2));
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    return Horner(graph_, f_, Horner(graph_, f_, x.to(at::kDouble), true)).to(x.scalar_type());
  }

 private:
  Graph graph_;
  torch::Tensor f_;
  PowersOfGraph powers_;
};

class SketchedSeriesMask : public Mask {
 public:
  SketchedSeriesMask(Graph graph, const torch::Tensor& f, const torch::Tensor& columns)
      : graph_(std::move(graph)),
        f_(f.to(at::kDouble)),
        columns_(columns.to(at::kDouble) / std::sqrt(static_cast<double>(columns.size(1)))) {}
  torch::Tensor Dense() const override {
    const torch::Tensor sketch = at::matmul(DenseSeries(graph_, f_), columns_);
    return at::matmul(sketch, sketch.transpose(1, 2));
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult, Way::kFeatures}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    const torch::Tensor sketch = Sketch();
    return at::matmul(sketch, at::matmul(sketch.transpose(1, 2), x.to(at::kDouble)))
        .to(x.scalar_type());
  }
  std::optional<MaskFactors> Factors() const override {
    const torch::Tensor sketch = Sketch();
    return MaskFactors{sketch, sketch};
  }
  std::optional<std::int64_t> FactorWidth() const override { return columns_.size(1); }

 private:
  torch::Tensor Sketch() const {
    return Horner(graph_, f_, columns_.unsqueeze(0).expand({f_.size(0), -1, -1}));
  }

  Graph graph_;
  torch::Tensor f_, columns_;
};

/// Of (1 - b w)^-p, by powers of w.
double InverseCoefficient(double b, int power, int k) {
  double binomial = 1;
  for (int i = 1; i < power; ++i) binomial *= static_cast<double>(k + i) / i;
  return binomial * std::pow(b, k);
}

double CoefficientOf(const std::string& kernel, double scale, int power, int k) {
  if (kernel == "diffusion") {
    const double t = scale * scale / 2;
    return std::exp(-t + k * std::log(t) - std::lgamma(k + 1.0));
  }
  if (kernel == "regularised_laplacian") {
    const double whole = 1 + scale * scale;
    return std::pow(whole, -power) * InverseCoefficient(scale * scale / whole, power, k);
  }
  if (kernel == "p_step") {
    if (k > power) return 0;
    return std::exp(std::lgamma(power + 1.0) - std::lgamma(k + 1.0) -
                    std::lgamma(power - k + 1.0)) *
           std::pow(scale - 1, power - k);
  }
  if (kernel == "cosine") {
    // Derivatives of cos(pi (1 - w) / 4) at w = 0, of which the signs go + + - -.
    const double sign = k % 4 < 2 ? 1 : -1;
    return sign * std::sqrt(0.5) *
           std::exp(k * std::log(std::numbers::pi / 4) - std::lgamma(k + 1.0));
  }
  return InverseCoefficient(scale, power, k);
}

class NamedKernelMask : public Mask {
 public:
  NamedKernelMask(Graph graph, const std::vector<double>& coefficients)
      : graph_(std::move(graph)),
        coefficients_(at::tensor(coefficients, at::kDouble).reshape({1, -1})) {}
  torch::Tensor Dense() const override {
    // Sparse products of unit columns, in which what no term reaches is exactly 0: functions of
    // eigenvalues leave rounding there.
    return Horner(graph_, coefficients_, at::eye(graph_.size(), at::kDouble).unsqueeze(0));
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    return Horner(graph_, coefficients_, x.to(at::kDouble)).to(x.scalar_type());
  }

 private:
  Graph graph_;
  torch::Tensor coefficients_;
};

}  // namespace

StatusOr<std::vector<double>> Deconvolved(std::span<const double> alpha) {
  if (alpha.empty() || !(alpha[0] > 0)) {
    return Mismatch(reason::ARGUMENT_INVALID, "alpha[0]", "a number above 0",
                    alpha.empty() ? "nothing" : NumberText(alpha[0]));
  }
  std::vector<double> f{std::sqrt(alpha[0])};
  for (std::size_t k = 1; k < alpha.size(); ++k) {
    double rest = alpha[k];
    for (std::size_t p = 1; p < k; ++p) rest -= f[p] * f[k - p];
    f.push_back(rest / (2 * f[0]));
  }
  return f;
}

Status CheckKernel(const std::string& kernel, double scale) {
  const auto refuse = [scale](const std::string& expected) {
    return Mismatch(reason::CONFIG_INVALID, "options.scale", expected, NumberText(scale));
  };
  if (kernel == "p_step") return scale < 2 ? refuse("at least 2 for p_step") : Status::Ok();
  if (kernel == "resolvent") {
    return scale >= 1 ? refuse("a number below 1 for resolvent") : Status::Ok();
  }
  return scale > 8 ? refuse("at most 8 for " + kernel) : Status::Ok();
}

std::vector<double> KernelCoefficients(const std::string& kernel, double scale, int power,
                                       double tolerance) {
  std::vector<double> coefficients;
  // Those of a kernel shrink from some k on by a steady factor at least; 32 small ones in a row are
  // a sign that all of the rest is.
  double largest = 0;
  int small_count = 0;
  for (int k = 0; k < kMaxCoefficients && small_count < 32; ++k) {
    const double c = CoefficientOf(kernel, scale, power, k);
    coefficients.push_back(c);
    largest = std::max(largest, std::abs(c));
    small_count = std::abs(c) <= tolerance * 1e-2 * largest ? small_count + 1 : 0;
    if (kernel == "p_step" && k == power) break;
  }
  return coefficients;
}

torch::Tensor DensePowers(const Graph& graph, std::int64_t degree) {
  const std::int64_t length = graph.size(), most = kMaxPowerNumbers / (degree + 1);
  if (length > 0 && length > most / length) {
    throw StatusException(ResourceExhausted(
        reason::HOST_MEMORY,
        "powers that are kept: expected at most " + std::to_string(most) + " pairs of tokens for " +
            std::to_string(degree) + " powers, got " + std::to_string(length) +
            " tokens; leave keep_powers off, take a smaller degree or the fast way"));
  }
  const torch::Tensor w = DenseOf(graph);
  std::vector<torch::Tensor> powers{at::eye(length, w.options())};
  for (std::int64_t k = 1; k <= degree; ++k) powers.push_back(at::matmul(powers.back(), w));
  return at::stack(powers);
}

MaskPtr MakePowerSeriesMask(Graph graph, torch::Tensor alpha, PowersOfGraph powers) {
  return std::make_unique<PowerSeriesMask>(std::move(graph), alpha, std::move(powers));
}

MaskPtr MakeSquaredSeriesMask(Graph graph, torch::Tensor f, PowersOfGraph powers) {
  return std::make_unique<SquaredSeriesMask>(std::move(graph), f, std::move(powers));
}

MaskPtr MakeSketchedSeriesMask(Graph graph, torch::Tensor f, torch::Tensor columns) {
  return std::make_unique<SketchedSeriesMask>(std::move(graph), f, columns);
}

MaskPtr MakeNamedKernelMask(Graph graph, const std::string& kernel, double scale, int power) {
  const std::vector<double> coefficients =
      KernelCoefficients(kernel, scale, power, kSeriesTolerance);
  if (coefficients.size() >= kMaxCoefficients) {
    throw StatusException(Status(StatusCode::kOutOfRange, reason::CONFIG_INVALID,
                                 "options.scale: expected a series of fewer than 4096 terms, got " +
                                     NumberText(scale) + ", which needs more")
                              .WithField("options.scale"));
  }
  return std::make_unique<NamedKernelMask>(std::move(graph), coefficients);
}

}  // namespace interlacer::attention
