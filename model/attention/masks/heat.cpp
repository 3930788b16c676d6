#include "model/attention/masks/heat.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/number_text.h"
#include "model/attention/masks/chebyshev.h"
#include "model/ops/saved_object.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

constexpr double kChebyshevTolerance = 1e-13;
/// Logarithm of the largest factor, far from overflow in float32.
constexpr double kMaxLogFactor = 60;

/// A symmetric matrix S = diagonal + adjacency part with eigenvalues in [0,rho].
struct SymmetricOperator {
  Graph off_diagonal;      ///< its weights come with their sign
  torch::Tensor diagonal;  ///< float64 [L]
  double rho = 0;

  torch::Tensor Times(const torch::Tensor& x) const {
    return diagonal.reshape({1, -1, 1}) * x +
           HeadwiseProduct(off_diagonal.pattern, off_diagonal.weights, x);
  }
  torch::Tensor Dense() const { return at::diag(diagonal) + DenseOf(off_diagonal); }
};

/// Of exp(-lambda_h S) in Chebyshev polynomials of (2 / rho) S - 1, so many that the rest is below
/// kChebyshevTolerance: float64 [H,K].
torch::Tensor ChebyshevCoefficients(double rho, const torch::Tensor& lambda) {
  std::vector<std::vector<double>> numbers;
  std::size_t term_count = 1;
  for (std::int64_t h = 0; h < lambda.size(0); ++h) {
    numbers.push_back(ScaledBesselNumbers(lambda[h].item<double>() * rho / 2, kChebyshevTolerance));
    term_count = std::max(term_count, numbers.back().size());
  }
  torch::Tensor coefficients =
      at::zeros({lambda.size(0), static_cast<std::int64_t>(term_count)}, at::kDouble);
  for (std::size_t h = 0; h < numbers.size(); ++h) {
    double* c = coefficients.mutable_data_ptr<double>() + h * term_count;
    for (std::size_t k = 0; k < numbers[h].size(); ++k) {
      c[k] = (k % 2 == 0 ? 1 : -1) * (k == 0 ? 1 : 2) * numbers[h][k];
    }
  }
  return coefficients;
}

/// exp(-lambda_h S) x without gradients.
torch::Tensor ExponentialProduct(const SymmetricOperator& s, const torch::Tensor& lambda,
                                 const torch::Tensor& x) {
  if (s.rho == 0) return x.clone();
  return ChebyshevProduct(*s.off_diagonal.pattern, s.off_diagonal.weights, s.diagonal, s.rho,
                          ChebyshevCoefficients(s.rho, lambda).expand({x.size(0), -1}), x);
}

/// The same by tensors in float64, with gradients in x and the weights of S.
torch::Tensor DifferentiableProduct(const SymmetricOperator& s, const torch::Tensor& lambda,
                                    const torch::Tensor& x) {
  if (s.rho == 0) return x.clone();
  const torch::Tensor coefficients = ChebyshevCoefficients(s.rho, lambda).unsqueeze(2);
  torch::Tensor before = x, now = s.Times(x) * (2 / s.rho) - x;
  torch::Tensor sum = coefficients.slice(1, 0, 1) * x;
  for (std::int64_t k = 1; k < coefficients.size(1); ++k) {
    sum = sum + coefficients.slice(1, k, k + 1) * now;
    torch::Tensor next = s.Times(now) * (4 / s.rho) - 2 * now - before;
    before = std::move(now);
    now = std::move(next);
  }
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

class HeatMask : public Mask {
 public:
  /// M = exp(lambda shift) diag(left) exp(-lambda S) diag(right), the factor cut at kMaxLogFactor.
  HeatMask(SymmetricOperator s, const torch::Tensor& lambda, torch::Tensor left,
           torch::Tensor right, double shift)
      : operator_(std::make_shared<const SymmetricOperator>(std::move(s))),
        lambda_(lambda.to(at::kDouble)),
        left_(std::move(left)),
        right_(std::move(right)),
        factor_(at::exp((lambda_ * shift).clamp_max(kMaxLogFactor)).reshape({-1, 1, 1})) {}

  torch::Tensor Dense() const override {
    const torch::Tensor power =
        at::linalg_matrix_exp(-lambda_.reshape({-1, 1, 1}) * operator_->Dense().unsqueeze(0));
    return factor_ * left_.reshape({1, -1, 1}) * power * right_.reshape({1, 1, -1});
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    // In float64: the polynomials' terms are as large as the largest entries near a token, whose
    // own may be far smaller.
    const torch::Tensor scaled = x.to(at::kDouble) * right_.reshape({1, -1, 1});
    return (Exponential(scaled) * (factor_ * left_.reshape({1, -1, 1}))).to(x.scalar_type());
  }

 private:
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
    return at::linalg_matrix_exp(-lambda_.reshape({-1, 1, 1}) * laplacian.unsqueeze(0));
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
    return y.masked_fill(y.detach().abs() <= noise, 0).to(x.scalar_type());
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

}  // namespace

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

MaskPtr MakeHeatMask(const Graph& graph, const std::string& operator_name, torch::Tensor lambda) {
  RequireUndirected(NonNegative(graph, "a diffusion mask"), "a diffusion mask");
  const torch::Tensor degrees = DegreesOf(graph);
  const double largest = degrees.numel() == 0 ? 0 : degrees.max().item<double>();
  const torch::Tensor ones = at::ones_like(degrees);
  SymmetricOperator s;
  torch::Tensor left = ones, right = ones;
  double shift = 0;
  if (operator_name == "laplacian") {
    s = {{graph.pattern, -graph.weights}, degrees, 2 * largest};
  } else if (operator_name == "neg_adjacency") {
    s = {{graph.pattern, -graph.weights}, ones * largest, 2 * largest};
    shift = largest;
  } else {
    const Graph w = SymmetricallyNormalised(graph);
    const torch::Tensor has_edges = (degrees != 0).to(at::kDouble);
    const bool is_normalised = operator_name == "normalised";
    if (!is_normalised) shift = 1;
    s = {{w.pattern, -w.weights}, is_normalised ? has_edges : ones, 2};
    if (is_normalised) {
      // (Deg - Adj) Deg^-1 = Deg^1/2 (1 - W) Deg^-1/2.
      left = at::sqrt(degrees.masked_fill(degrees == 0, 1));
      right = left.reciprocal();
    }
  }
  const double terms = lambda.detach().max().item<double>() * s.rho / 2;
  // Infinite degrees make no number of 0.
  if (!(13 * std::sqrt(terms) <= kMaxChebyshevTerms)) {
    throw StatusException(Status(StatusCode::kOutOfRange, reason::SCHEMA_INVALID,
                                 "parameters.lambda: expected at most " +
                                     NumberText(4.7e6 / s.rho) + " for degrees of up to " +
                                     NumberText(largest) + ", got " +
                                     NumberText(lambda.detach().max().item<double>()))
                              .WithField("parameters.lambda"));
  }
  return std::make_unique<HeatMask>(std::move(s), lambda, left, right, shift);
}

MaskPtr MakeGridHeatMask(std::vector<std::int64_t> grid, torch::Tensor lambda, bool is_torus) {
  return std::make_unique<GridHeatMask>(std::move(grid), lambda, is_torus);
}

MaskPtr MakeHypercubeHeatMask(std::int64_t dimensions, torch::Tensor lambda) {
  return std::make_unique<HypercubeHeatMask>(dimensions, lambda);
}

}  // namespace interlacer::attention
