#pragma once

/// Polynomials of a sparse symmetric matrix times columns, in one of two bases.
///
///   out_h = sum_k c_hk P_k((2 / rho) S - 1) x_h   P_k: Chebyshev's T_k, or the k-th power
/// S = diagonal [L] + values [nnz] of the pattern, with eigenvalues in [0,rho]; c [H,K]; x [H,L,C];
/// all float64. No gradient. Columns are taken a few at a time through all K terms, so that their
/// three or four vectors stay in a core's cache. Memory beside the result: up to 4 L kColumns
/// numbers a thread. Equal bits for any thread count. Threads: pure function; uses
/// common/thread_pool.h.
/// Source: gkat, Thm 4.1 (action of the matrix exponential).

#include <torch/types.h>

#include "model/attention/core/sparse.h"

namespace interlacer::attention {

enum class PolynomialBasis { kChebyshev, kPowers };

torch::Tensor PolynomialProduct(PolynomialBasis basis, const SparsePattern& pattern,
                                const torch::Tensor& values, const torch::Tensor& diagonal,
                                double rho, const torch::Tensor& coefficients,
                                const torch::Tensor& x);

}  // namespace interlacer::attention
