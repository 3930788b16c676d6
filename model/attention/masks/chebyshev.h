#pragma once

/// Polynomials of a sparse symmetric matrix times columns, by Chebyshev's recursion.
///
///   out_h = sum_k c_hk T_k((2 / rho) S - 1) x_h     S = diag + off-diagonal part, eigenvalues
///   [0,rho] diagonal [L] and values [nnz] float64; c [H,K] float64; x [H,L,C] float32 or float64
/// Computes in x's type; no gradient. Columns are taken a few at a time through all K terms, so
/// that their four vectors stay in a core's cache. Memory beside the result: 4 L kColumns numbers a
/// thread. Equal bits for any thread count. Threads: pure function; uses common/thread_pool.h.
/// Source: gkat, Thm 4.1 (action of the matrix exponential).

#include <torch/types.h>

#include "model/attention/core/sparse.h"

namespace interlacer::attention {

torch::Tensor ChebyshevProduct(const SparsePattern& pattern, const torch::Tensor& values,
                               const torch::Tensor& diagonal, double rho,
                               const torch::Tensor& coefficients, const torch::Tensor& x);

}  // namespace interlacer::attention
