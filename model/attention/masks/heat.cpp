#include "model/attention/masks/heat.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/number_text.h"
#include "model/attention/masks/polynomial_product.h"
#include "model/ops/saved_object.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

constexpr double kChebyshevTolerance = 1e-13;
constexpr double kTaylorTolerance = 1e-30;
/// Up to here both methods take about as many terms.
constexpr double kMostTaylorHops = 32;
/// Logarithm of the largest factor, far from overflow in float32.
constexpr double kMaxLogFactor = 60;

/// A symmetric matrix S = diagonal + adjacency part with eigenvalues in [0,rho], rho / 2 - S >= 0.
struct SymmetricOperator {
  Graph off_diagonal;      ///< its weights come with their sign
  torch::Tensor diagonal;  ///< float64 [L]
  double rho = 0;
  HeatMethod method = HeatMethod::kChebyshev;

  torch::Tensor Times(const torch::Tensor& x) const {
    return diagonal.reshape({1, -1, 1}) * x +
           HeadwiseProduct(off_diagonal.pattern, off_diagonal.weights, x);
  }
  torch::Tensor Dense() const { return at::diag(diagonal) + DenseOf(off_diagonal); }
  /// (2 / rho) S - 1, of which no entry is above 0.
  SymmetricOperator Centred() const {
    return {{off_diagonal.pattern, off_diagonal.weights * (2 / rho)},
            (diagonal - rho / 2) * (2 / rho),
            rho,
            method};
  }
};

/// Of exp(-lambda_h S) in polynomials of (2 / rho) S - 1, so many that the rest is below the
/// method's tolerance: float64 [H,K].
torch::Tensor PolynomialCoefficients(const SymmetricOperator& s, const torch::Tensor& lambda) {
  const bool is_taylor = s.method == HeatMethod::kTaylor;
  std::vector<std::vector<double>> numbers;
  std::size_t term_count = 1;
  for (std::int64_t h = 0; h < lambda.size(0); ++h) {
    const double z = lambda[h].item<double>() * s.rho / 2;
    numbers.push_back(is_taylor ? PoissonNumbers(z, kTaylorTolerance)
                                : ScaledBesselNumbers(z, kChebyshevTolerance));
    term_count = std::max(term_count, numbers.back().size());
  }
  torch::Tensor coefficients =
      at::zeros({lambda.size(0), static_cast<std::int64_t>(term_count)}, at::kDouble);
  for (std::size_t h = 0; h < numbers.size(); ++h) {
    double* c = coefficients.mutable_data_ptr<double>() + h * term_count;
    for (std::size_t k = 0; k < numbers[h].size(); ++k) {
      c[k] = (k % 2 == 0 ? 1 : -1) * (k == 0 || is_taylor ? 1 : 2) * numbers[h][k];
    }
  }
  return coefficients;
}

/// exp(-lambda_h S) x without gradients.
torch::Tensor ExponentialProduct(const SymmetricOperator& s, const torch::Tensor& lambda,
                                 const torch::Tensor& x) {
  if (s.rho == 0) return x.clone();
  return PolynomialProduct(
      s.method == HeatMethod::kTaylor ? PolynomialBasis::kPowers : PolynomialBasis::kChebyshev,
      *s.off_diagonal.pattern, s.off_diagonal.weights, s.diagonal, s.rho,
      PolynomialCoefficients(s, lambda).expand({x.size(0), -1}), x);
}

/// The same by tensors in float64, with gradients in x and the weights of S.
torch::Tensor DifferentiableProduct(const SymmetricOperator& s, const torch::Tensor& lambda,
                                    const torch::Tensor& x) {
  if (s.rho == 0) return x.clone();
  const SymmetricOperator centred = s.Centred();
  const torch::Tensor coefficients = PolynomialCoefficients(s, lambda).unsqueeze(2);
  torch::Tensor before = x, now = centred.Times(x);
  torch::Tensor sum = coefficients.slice(1, 0, 1) * x;
  for (std::int64_t k = 1; k < coefficients.size(1); ++k) {
    sum = sum + coefficients.slice(1, k, k + 1) * now;
    torch::Tensor next = centred.Times(now);
    if (s.method == HeatMethod::kChebyshev) next = 2 * next - before;
    before = std::move(now);
    now = std::move(next);
  }
  return sum;
}

/// exp(-lambda_h S) of a matrix S [L,L] with rho / 2 - S >= 0, as e^-z e^(z N) of N = 1 - 2 S / rho
/// >= 0, z = lambda rho / 2: by halving and squaring, without a difference that could cancel, so
/// that entries of any size have their digits. [H,L,L].
torch::Tensor DenseExponential(const torch::Tensor& s, double rho, const torch::Tensor& lambda) {
  constexpr std::int64_t kBlock = 6, kBlocks = 5;  // 30 terms for z of at most 1
  const torch::Tensor one = at::eye(s.size(0), s.options().requires_grad(false));
  if (rho == 0) return one.unsqueeze(0).expand({lambda.size(0), -1, -1});
  const torch::Tensor n =
      at::diag((rho / 2 - s.diagonal()) * (2 / rho)) - (s - at::diag(s.diagonal())) * (2 / rho);
  std::vector<torch::Tensor> powers{one, n};
  while (static_cast<std::int64_t>(powers.size()) <= kBlock) {
    powers.push_back(at::matmul(powers.back(), n));
  }
  const double largest = lambda.detach().max().item<double>() * rho / 2;
  const int halvings = largest > 1 ? static_cast<int>(std::ceil(std::log2(largest))) : 0;
  const torch::Tensor z = (lambda * (rho / 2 * std::exp2(-halvings))).reshape({-1, 1, 1});
  torch::Tensor sum;
  for (std::int64_t b = kBlocks - 1; b >= 0; --b) {
    if (sum.defined()) sum = at::matmul(sum, powers[kBlock]);
    for (std::int64_t j = 0; j < kBlock; ++j) {
      const auto k = static_cast<double>(b * kBlock + j);
      const torch::Tensor term = at::pow(z, k) * std::exp(-std::lgamma(k + 1)) * powers[j];
      sum = sum.defined() ? sum + term : term;
    }
  }
  sum = sum * at::exp(-z);
  for (int i = 0; i < halvings; ++i) sum = at::matmul(sum, sum);
  return sum;
}

class ExponentialFunction : public torch::autograd::Function<ExponentialFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& lambda, const torch::Tensor& x,
                               const std::shared_ptr<const SymmetricOperator>& s) {
    const torch::Tensor product = ExponentialProduct(*s, lambda, x);
    context->save_for_backward({lambda, product});
    SaveObject(context, "operator", s);
    return product;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto s = LoadObject<SymmetricOperator>(context, "operator");
    // d/d lambda of exp(-lambda S) x is -S exp(-lambda S) x; S and the exponential are symmetric.
    const torch::Tensor to_lambda = -(grads[0] * s->Times(saved[1])).sum({1, 2});
    return {to_lambda, apply(saved[0].detach(), grads[0], s), torch::Tensor()};
  }
};

/// [1] in place of [L] where all numbers are equal.
torch::Tensor OneOfEquals(const torch::Tensor& x) {
  const torch::Tensor first = x.slice(0, 0, 1);
  return x.numel() > 0 && at::equal(x, first.expand_as(x)) ? first : x;
}

class HeatMask : public Mask {
 public:
  /// M = diag(exp(lambda shift) left) exp(-lambda S) diag(right), exp(lambda shift) cut at
  /// kMaxLogFactor. shift [L] is one number in each of the components.
  HeatMask(SymmetricOperator s, const torch::Tensor& lambda, torch::Tensor left,
           torch::Tensor right, const torch::Tensor& shift, SparsePatternPtr components)
      : operator_(std::make_shared<const SymmetricOperator>(std::move(s))),
        components_(std::move(components)),
        lambda_(lambda.to(at::kDouble)),
        left_(std::move(left)),
        right_(std::move(right)),
        factor_(at::exp((lambda_.unsqueeze(1) * OneOfEquals(shift)).clamp_max(kMaxLogFactor))
                    .unsqueeze(2)) {}

  torch::Tensor Dense() const override {
    const torch::Tensor power = DenseExponential(operator_->Dense(), operator_->rho, lambda_);
    return factor_ * left_.reshape({1, -1, 1}) * power * right_.reshape({1, 1, -1});
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    // In float64: the polynomials' terms are as large as the largest entries near a token, whose
    // own may be far smaller.
    const torch::Tensor scaled = x.to(at::kDouble) * right_.reshape({1, -1, 1});
    torch::Tensor product = Exponential(scaled);
    if (operator_->method == HeatMethod::kChebyshev) {
      // What is below the polynomials' error is zero: a row without weight stays so.
      product = WithoutNoise(product, ErrorOf(scaled.detach()));
    }
    return (product * (factor_ * left_.reshape({1, -1, 1}))).to(x.scalar_type());
  }

 private:
  /// Of the polynomials of columns x, which are as large as these are in a component: [H,L,C], or
  /// [H,1,C].
  torch::Tensor ErrorOf(const torch::Tensor& x) const {
    if (components_->rows <= 1) return x.norm(2, {1}, true) * (2 * kChebyshevTolerance);
    const torch::Tensor squares =
        HeadwiseProduct(components_, at::ones({1, x.size(1)}, at::kDouble), x * x);
    return (at::sqrt(squares) * (2 * kChebyshevTolerance))
        .index_select(1, at::tensor(components_->row_of, at::kLong));
  }

  torch::Tensor Exponential(const torch::Tensor& x) const {
    if (!operator_->off_diagonal.weights.requires_grad()) {
      return ExponentialFunction::apply(lambda_, x, operator_);
    }
    // Weights take their gradient through the polynomials, which are in S; that of lambda is
    // -S exp(-lambda S) x.
    const torch::Tensor product = DifferentiableProduct(*operator_, lambda_.detach(), x);
    const torch::Tensor time = (lambda_ - lambda_.detach()).reshape({-1, 1, 1});
    return product - time * operator_->Times(product).detach();
  }

  std::shared_ptr<const SymmetricOperator> operator_;
  SparsePatternPtr components_;
  torch::Tensor lambda_, left_, right_, factor_;
};

torch::Tensor EigenvaluesOfRing(std::int64_t n) {
  const torch::Tensor k = at::arange(n / 2 + 1, at::TensorOptions().dtype(at::kDouble));
  return 2 - 2 * at::cos(k * (2 * M_PI / static_cast<double>(n)));
}

class GridHeatMask : public Mask {
 public:
  GridHeatMask(std::vector<std::int64_t> grid, const torch::Tensor& lambda, bool is_torus)
      : grid_(std::move(grid)), lambda_(lambda.to(at::kDouble)), is_torus_(is_torus) {}

  torch::Tensor Dense() const override {
    std::int64_t length = 1;
    for (const std::int64_t side : grid_) length *= side;
    torch::Tensor laplacian = at::zeros({length, length}, at::kDouble);
    auto entries = laplacian.accessor<double, 2>();
    std::int64_t stride = length;
    for (const std::int64_t side : grid_) {
      stride /= side;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t along = i / stride % side;
        if (along + 1 == side && !is_torus_) continue;
        const std::int64_t j = i + ((along + 1) % side - along) * stride;
        entries[i][i] += 1;
        entries[j][j] += 1;
        entries[i][j] -= 1;
        entries[j][i] -= 1;
      }
    }
    const double largest = length == 0 ? 0 : laplacian.diagonal().max().item<double>();
    return DenseExponential(laplacian, 2 * largest, lambda_);
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    std::vector<std::int64_t> shape{x.size(0)};
    shape.insert(shape.end(), grid_.begin(), grid_.end());
    shape.push_back(x.size(2));
    torch::Tensor y = x.to(at::kDouble).reshape(shape);
    for (std::size_t a = 0; a < grid_.size(); ++a) y = AlongAxis(y, static_cast<std::int64_t>(a));
    y = y.reshape(x.sizes());
    // What is below the rounding of the transforms is zero: a row without weight stays so.
    const torch::Tensor noise = x.detach().to(at::kDouble).norm(2, {1}, true) *
                                (16 * std::numeric_limits<double>::epsilon());
    return WithoutNoise(y, noise).to(x.scalar_type());
  }

 private:
  torch::Tensor AlongAxis(const torch::Tensor& x, std::int64_t axis) const {
    const std::int64_t side = grid_[axis], dim = axis + 1;
    // A path is half of a ring of twice its length, on which columns are mirrored.
    const torch::Tensor ring = is_torus_ ? x : at::cat({x, x.flip(dim)}, dim);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
    shape[0] = lambda_.size(0);
    shape[dim] = ring.size(dim) / 2 + 1;
    const torch::Tensor factors =
        at::exp(-lambda_.unsqueeze(1) * EigenvaluesOfRing(ring.size(dim))).reshape(shape);
    return at::fft_irfft(at::fft_rfft(ring, c10::nullopt, dim) * factors, ring.size(dim), dim)
        .slice(dim, 0, side);
  }

  std::vector<std::int64_t> grid_;
  torch::Tensor lambda_;
  bool is_torus_;
};

class HypercubeHeatMask : public Mask {
 public:
  HypercubeHeatMask(std::int64_t dimensions, const torch::Tensor& lambda)
      : dimensions_(dimensions), lambda_(lambda.to(at::kDouble)) {}
  torch::Tensor Dense() const override {
    const std::int64_t length = std::int64_t{1} << dimensions_;
    torch::Tensor hamming = at::empty({length, length}, at::kDouble);
    auto entries = hamming.accessor<double, 2>();
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) {
        entries[i][j] = static_cast<double>(__builtin_popcountll(static_cast<unsigned>(i ^ j)));
      }
    }
    const torch::Tensor time = lambda_.reshape({-1, 1, 1});
    return at::pow((1 + at::exp(-2 * time)) / 2, static_cast<double>(dimensions_)) *
           at::pow(at::tanh(time), hamming);
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    const torch::Tensor fall = at::exp(-2 * lambda_).reshape({-1, 1, 1, 1});
    torch::Tensor y = x.to(at::kDouble);
    for (std::int64_t a = 0; a < dimensions_; ++a) {
      const torch::Tensor pair = y.reshape({x.size(0), std::int64_t{1} << a, 2, -1});
      y = ((1 + fall) * pair + (1 - fall) * pair.flip(2)) / 2;
    }
    return y.reshape(x.sizes()).to(x.scalar_type());
  }

 private:
  std::int64_t dimensions_;
  torch::Tensor lambda_;
};

double LargestOf(const torch::Tensor& x) {
  return x.numel() == 0 ? 0 : x.detach().max().item<double>();
}

/// At least the largest eigenvalue of every token's component, of weights >= 0: [L]. Collatz and
/// Wielandt: it is at most the largest (W x)_i / x_i of any x > 0. Powers of W + c come near the
/// eigenvector: on random trees and graphs of nearest neighbours the bound is less than 1e-3 above
/// the eigenvalue, so that in Taylor's terms exp(lambda W) keeps e^-18 of exp(lambda rho).
torch::Tensor SpectralBounds(const Graph& graph, const SparsePattern& components) {
  constexpr int kPowers = 256;
  const double scale = LargestOf(graph.weights);
  if (scale == 0) return at::zeros({graph.size()}, at::kDouble);
  const torch::Tensor weights = graph.weights.detach() / scale;
  const torch::Tensor tokens = ColumnsOf(components);
  const torch::Tensor component_of = at::tensor(components.row_of, at::kLong);
  torch::Tensor x = at::ones({1, graph.size(), 1}, at::kDouble), bounds, c;
  for (int k = 0; k < kPowers; ++k) {
    const torch::Tensor product = HeadwiseProduct(graph.pattern, weights, x);
    const torch::Tensor ratios = (product / x).reshape({1, -1}).index_select(1, tokens);
    const torch::Tensor most = RowMaxima(components, ratios, 0).index_select(1, component_of);
    bounds = bounds.defined() ? at::minimum(bounds, most) : most;
    if (!c.defined()) c = most.masked_fill(most == 0, 1).reshape({1, -1, 1});
    x = (product / c + x) / 2;
  }
  return bounds[0] * scale;
}

/// The largest z of which the method takes at most kMaxHeatTerms terms: z + 13 sqrt(z) of Taylor's,
/// 13 sqrt(z) of Chebyshev's.
double MostHops(HeatMethod method) {
  constexpr double kRoots = 13, kTerms = kMaxHeatTerms;
  const double root = method == HeatMethod::kTaylor
                          ? (std::sqrt(kRoots * kRoots + 4 * kTerms) - kRoots) / 2
                          : kTerms / kRoots;
  return root * root;
}

}  // namespace

std::vector<double> PoissonNumbers(double z, double tolerance) {
  std::vector<double> numbers{std::exp(-z)};
  for (double k = 1; z > 0; ++k) {
    const double number = std::exp(k * std::log(z) - z - std::lgamma(k + 1));
    // From here on the numbers fall faster than powers of z / k.
    if (k > z && number <= tolerance * (1 - z / k)) break;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<double> ScaledBesselNumbers(double z, double tolerance) {
  if (z < 1e-15) return {1};
  // Recursion downwards, from an order so high that its number is far below the tolerance.
  const auto start = static_cast<std::size_t>(std::min(z, 13 * std::sqrt(z)) + 60 +
                                              (z < 1 ? 0 : 8 * std::cbrt(z)));
  std::vector<double> numbers(start + 2, 0);
  numbers[start] = 1e-250;
  double sum = 2 * numbers[start];
  for (std::size_t k = start; k-- > 0;) {
    numbers[k] = numbers[k + 2] + 2 * static_cast<double>(k + 1) / z * numbers[k + 1];
    sum += (k == 0 ? 1 : 2) * numbers[k];
    if (sum > 1e200) {
      for (double& number : numbers) number *= 1e-200;
      sum *= 1e-200;
    }
  }
  // e^z = I_0 + 2 (I_1 + I_2 + ...).
  for (double& number : numbers) number /= sum;
  double rest = 0;
  std::size_t count = numbers.size();
  while (count > 1 && rest + 2 * numbers[count - 1] < tolerance) rest += 2 * numbers[--count];
  numbers.resize(count);
  return numbers;
}

MaskPtr MakeHeatMask(const Graph& graph, const std::string& operator_name, torch::Tensor lambda,
                     HeatMethod method) {
  RequireUndirected(NonNegative(graph, "a diffusion mask"), "a diffusion mask");
  const torch::Tensor degrees = DegreesOf(graph);
  const double largest = LargestOf(degrees);
  const torch::Tensor has_edges = (degrees != 0).to(at::kDouble);
  SparsePatternPtr components = ConnectedComponents(*graph.pattern);
  const bool is_adjacency = operator_name == "neg_adjacency";
  SymmetricOperator s;
  torch::Tensor left = at::ones_like(degrees), right = left, shift = at::zeros_like(degrees);
  if (operator_name == "laplacian") {
    s = {{graph.pattern, -graph.weights}, degrees, 2 * largest};
  } else if (is_adjacency) {
    shift = SpectralBounds(graph, *components);
    s = {{graph.pattern, -graph.weights}, shift, 2 * LargestOf(shift)};
  } else {
    // A token without edges has no eigenvalue but 0, of W and of the Laplacian.
    const Graph w = SymmetricallyNormalised(graph);
    s = {{w.pattern, -w.weights}, has_edges, 2};
    if (operator_name == "normalised") {
      // (Deg - Adj) Deg^-1 = Deg^1/2 (1 - W) Deg^-1/2.
      left = at::sqrt(degrees.masked_fill(degrees == 0, 1));
      right = left.reciprocal();
    } else {
      shift = has_edges;
    }
  }
  // Any bound does for weights that are all 0 and may grow.
  if (s.rho == 0 && graph.weights.requires_grad()) s.rho = 1;
  const double most = lambda.detach().max().item<double>();
  const double hops = most * s.rho / 2;
  s.method = method;
  if (method == HeatMethod::kAuto) {
    // Parts of a component with smaller eigenvalues than its largest have far smaller entries.
    const bool is_taylor =
        hops <= kMostTaylorHops || (is_adjacency && hops <= MostHops(HeatMethod::kTaylor));
    s.method = is_taylor ? HeatMethod::kTaylor : HeatMethod::kChebyshev;
  }
  // Of infinite degrees and lambda 0 the product is not a number, which is refused too.
  if (!(hops <= MostHops(s.method))) {
    throw StatusException(
        Status(StatusCode::kOutOfRange, reason::SCHEMA_INVALID,
               "parameters.lambda: expected at most " + NumberText(2 * MostHops(s.method) / s.rho) +
                   " for degrees of up to " + NumberText(largest) + ", got " + NumberText(most))
            .WithField("parameters.lambda"));
  }
  return std::make_unique<HeatMask>(std::move(s), lambda, left, right, shift,
                                    std::move(components));
}

MaskPtr MakeGridHeatMask(std::vector<std::int64_t> grid, torch::Tensor lambda, bool is_torus) {
  return std::make_unique<GridHeatMask>(std::move(grid), lambda, is_torus);
}

MaskPtr MakeHypercubeHeatMask(std::int64_t dimensions, torch::Tensor lambda) {
  return std::make_unique<HypercubeHeatMask>(dimensions, lambda);
}

}  // namespace interlacer::attention
