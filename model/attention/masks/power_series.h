#pragma once

/// Masks that are power series of a graph's weighted adjacency W, and named graph kernels.
///
///   M = sum over k <= K of alpha_k W^k; coefficients [H,K+1]
/// Fast: Horner's rule with sparse products, O(K E) for a column. Dense: dense powers, O(K L^3), or
/// O(K L^2) of powers that are there already; of named kernels O(K E L).
/// Named kernels of L = I - W, for W normalised symmetrically (eigenvalues in [-1,1]):
///   diffusion exp(-s^2 L / 2)   regularised_laplacian_p (I + s^2 L)^-p, p >= 1
///   p_step (a I - L)^p, a >= 2   cosine cos(pi L / 4)   resolvent_p (I - b W)^-p, 0 < b < 1
/// By a series in W, cut where the rest is below 1e-12.
/// Deconvolution: f with sum over p of f_p f_{k-p} = alpha_k, so that M = Phi Phi^T for symmetric W
/// and Phi = sum over k of f_k W^k. Needs alpha_0 > 0.
/// Thread-safety: pure functions. Source: grf-masking, Eq. 4 and Remark 3.1; general-grf, Table 1.

#include <torch/types.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/attention/masks/graph.h"

namespace interlacer::attention {

/// f_0 ... f_K of alpha_0 ... alpha_K. INVALID_ARGUMENT at "alpha[0]" unless it is above 0.
StatusOr<std::vector<double>> Deconvolved(std::span<const double> alpha);

/// What a named series leaves out at most, of eigenvalues in [-1,1].
inline constexpr double kSeriesTolerance = 1e-12;

/// INVALID_ARGUMENT CONFIG_INVALID at "options.scale" where the kernel is none at this scale, or
/// its series is too long.
Status CheckKernel(const std::string& kernel, double scale);

/// Coefficients of a named kernel by powers of W, up to the first k after which the rest of the
/// series, for eigenvalues in [-1,1], is below `tolerance`; at most 4096.
std::vector<double> KernelCoefficients(const std::string& kernel, double scale, int power,
                                       double tolerance);

/// W^0 ... W^degree: float64 [degree+1,L,L].
/// StatusException RESOURCE_EXHAUSTED HOST_MEMORY beyond kMaxPowerNumbers.
torch::Tensor DensePowers(const Graph& graph, std::int64_t degree);
/// A GiB.
inline constexpr std::int64_t kMaxPowerNumbers = std::int64_t{1} << 27;

/// DensePowers of the mask's graph and degree, made or kept; null: the dense mask makes its own,
/// one at a time.
using PowersOfGraph = std::function<torch::Tensor()>;

MaskPtr MakePowerSeriesMask(Graph graph, torch::Tensor alpha, PowersOfGraph powers = nullptr);
/// Phi Phi^T with Phi = sum of f_k W^k.
MaskPtr MakeSquaredSeriesMask(Graph graph, torch::Tensor f, PowersOfGraph powers = nullptr);
/// P P^T with P = Phi G / sqrt r, for random columns G [L,r]: fast and of rank r, its entries may
/// be negative.
MaskPtr MakeSketchedSeriesMask(Graph graph, torch::Tensor f, torch::Tensor columns);
/// StatusException OUT_OF_RANGE at "options.scale" where the series has no end within 4096 terms.
MaskPtr MakeNamedKernelMask(Graph graph, const std::string& kernel, double scale, int power);

}  // namespace interlacer::attention
