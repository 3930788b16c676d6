#pragma once

/// Learned Fourier transforms of relative position encodings: f(z) = integral of exp(2 pi i z xi)
/// g(xi), from samples xi of a density p.
///
/// Features N1, N2 [H,L,2r] with N1 N2^T = sum over samples of u cos(2 pi xi (r_i - r_j)), where
/// u = g(xi) / (r p(xi)): an unbiased estimate of the even part of f. All of u stands in N2, or,
/// balanced, its root in N1 and the rest in N2; gradients are finite where u is 0. Angles are
/// reduced in float64. Thread-safety: pure functions. Source: flt, Sec. 3.2, Eq. 3 to 5 (with width
/// d + 2 r in Eq. 3), and Sec. 3.3, Eq. 6 to 12 (with the power on the whole ratio in Eq. 12).

#include <torch/types.h>

#include <cstdint>
#include <string>

namespace interlacer::attention {

struct FourierFeatures {
  torch::Tensor left, right;
};

/// r samples of dimension l, float64 [r,l]. normal: N(0,1) along each axis; uniform: in
/// [-extent,extent]; cauchy: standard; truncated_normal: N(0,1) within [-extent,extent]; laplace:
/// of density exp(-|xi|) / 2.
torch::Tensor DrawFrequencies(const std::string& proposal, double extent, std::uint64_t seed,
                              std::int64_t count, std::int64_t dimensions);
/// Their densities: float64 [r].
torch::Tensor DensityOf(const std::string& proposal, double extent, const torch::Tensor& xi);

/// weights u [H,r], xi [r,l], positions [L,l]. With u_imaginary, of an imaginary part of g, the sum
/// also has - u_imaginary sin(2 pi xi (r_i - r_j)): f need not be even.
FourierFeatures MakeFourierFeatures(const torch::Tensor& u, const torch::Tensor& u_imaginary,
                                    const torch::Tensor& xi, const torch::Tensor& positions,
                                    bool is_balanced = false);

/// (sin(2 pi v xi) / (pi xi))^power, with its limit (2 v)^power at 0; v broadcasts against xi.
torch::Tensor WindowTransform(const torch::Tensor& v, const torch::Tensor& xi, double power);

}  // namespace interlacer::attention
