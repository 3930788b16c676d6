#include "model/attention/masks/fourier.h"

#include <ATen/Functions.h>

#include <cmath>
#include <numbers>

#include "common/check.h"
#include "model/attention/core/random_features.h"

namespace interlacer::attention {
namespace {

using std::numbers::pi;

/// Draws until one lies within; a truncation to a tiny interval falls back to uniform draws, which
/// its density equals there to all digits.
double TruncatedNormal(RandomSequence& sequence, double extent) {
  for (int attempt = 0; attempt < 10000; ++attempt) {
    const double x = sequence.Normal();
    if (std::abs(x) <= extent) return x;
  }
  return sequence.Uniform(-extent, extent);
}

}  // namespace

torch::Tensor DrawFrequencies(const std::string& proposal, double extent, std::uint64_t seed,
                              std::int64_t count, std::int64_t dimensions) {
  torch::Tensor xi = at::empty({count, dimensions}, at::kDouble);
  double* number = xi.mutable_data_ptr<double>();
  RandomSequence sequence(seed, RandomStream::kRandomFeatures, 0xF117);
  for (std::int64_t i = 0; i < count * dimensions; ++i) {
    if (proposal == "uniform") {
      number[i] = sequence.Uniform(-extent, extent);
    } else if (proposal == "cauchy") {
      // A uniform number has 24 bits: half a step keeps it off the ends.
      number[i] = std::tan(pi * (sequence.Uniform() + 0x1p-25 - 0.5));
    } else if (proposal == "truncated_normal") {
      number[i] = TruncatedNormal(sequence, extent);
    } else if (proposal == "laplace") {
      const double lot = sequence.Uniform() + 0x1p-25 - 0.5;
      number[i] = std::copysign(std::log1p(-2 * std::abs(lot)), lot);
    } else {
      number[i] = sequence.Normal();
    }
  }
  return xi;
}

torch::Tensor DensityOf(const std::string& proposal, double extent, const torch::Tensor& xi) {
  if (proposal == "uniform") {
    return at::full({xi.size(0)}, std::pow(2 * extent, -static_cast<double>(xi.size(1))),
                    at::kDouble);
  }
  if (proposal == "cauchy") return (1 / (pi * (1 + xi * xi))).prod(1);
  if (proposal == "laplace") return (at::exp(-xi.abs()) / 2).prod(1);
  const double inside = proposal == "truncated_normal" ? std::erf(extent / std::sqrt(2.0)) : 1;
  return (at::exp(-xi * xi / 2) / (std::sqrt(2 * pi) * inside)).prod(1);
}

FourierFeatures MakeFourierFeatures(const torch::Tensor& u, const torch::Tensor& u_imaginary,
                                    const torch::Tensor& xi, const torch::Tensor& positions,
                                    bool is_balanced) {
  INTERLACER_CHECK(xi.size(1) == positions.size(1), "dimensions of places and frequencies");
  const torch::Tensor turns =
      at::matmul(positions.to(at::kDouble), xi.to(at::kDouble).transpose(0, 1));
  const torch::Tensor angle = (turns - at::round(turns).detach()) * (2 * pi);
  const torch::Tensor cosine = at::cos(angle).to(u.scalar_type()).unsqueeze(0);
  const torch::Tensor sine = at::sin(angle).to(u.scalar_type()).unsqueeze(0);
  const torch::Tensor real = u.unsqueeze(1);
  torch::Tensor of_cosine = real * cosine, of_sine = real * sine;
  if (u_imaginary.defined()) {
    // sin(a - b) = sin a cos b - cos a sin b.
    of_cosine = of_cosine + u_imaginary.unsqueeze(1) * sine;
    of_sine = of_sine - u_imaginary.unsqueeze(1) * cosine;
  }
  torch::Tensor left = at::cat({cosine, sine}, 2).expand({u.size(0), -1, -1});
  torch::Tensor right = at::cat({of_cosine, of_sine}, 2);
  if (is_balanced) {
    // Not quite |u|, so that its root has a gradient at 0; the product of both sides is u.
    torch::Tensor square = u * u + 1e-24;
    if (u_imaginary.defined()) square = square + u_imaginary * u_imaginary;
    const torch::Tensor root = at::pow(square, 0.25).unsqueeze(1).repeat({1, 1, 2});
    left = left * root;
    right = right / root;
  }
  return {left, right};
}

torch::Tensor WindowTransform(const torch::Tensor& v, const torch::Tensor& xi, double power) {
  // sinc(x) is sin(pi x) / (pi x).
  const torch::Tensor ratio = 2 * v * at::sinc(2 * v * xi);
  return power == 1 ? ratio : at::pow(ratio, power);
}

}  // namespace interlacer::attention
