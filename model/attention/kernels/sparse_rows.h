#pragma once

/// Loops of sparse matrices times columns over a range of rows, one set per instruction set;
/// model/attention/core/sparse.cpp and model/attention/masks/polynomial_product.cpp spread them
/// over threads. The sets give equal bits: every sum has an order of its own that no register width
/// changes. Pure functions; sizes are not checked.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer::attention {

/// Row i has the entries [offsets[i], offsets[i + 1]), entry e in column indices[e]. Its weight is
/// that at entries[e], or at e where `entries` is null.
struct SparseRows {
  const std::int64_t* offsets = nullptr;
  const std::int64_t* indices = nullptr;
  const std::int64_t* entries = nullptr;
};

/// Columns of one step of a polynomial.
inline constexpr std::int64_t kPolynomialColumns = 16;

}  // namespace interlacer::attention

namespace interlacer {

INTERLACER_FOR_INSTRUCTION_SETS(
    /** out[i,:] = sum over the entries of row i of weight x[column,:], added in their order, for
     * rows [begin,end); x and out have `width` numbers a row. */
    template <typename T>
    void MultiplyRows(const attention::SparseRows& rows, const T* weights, const T* x,
                      std::int64_t width, std::int64_t begin, std::int64_t end, T* out);
    /** out[e] = a[i,:] b[column,:] for the entries of rows [begin,end); `entries` is not read. */
    template <typename T>
    void SampleRows(const attention::SparseRows& rows, const T* a, const T* b, std::int64_t width,
                    std::int64_t begin, std::int64_t end, T* out);
    /** next = factor * (diagonal + weights of the entries) now + c * x - before for `count` rows of
     * kPolynomialColumns numbers; `before` may be null. */
    void AddPolynomialTerm(const attention::SparseRows& rows, const double* weights,
                           const double* diagonal, std::int64_t count, double factor, double c,
                           const double* x, const double* now, const double* before, double* next);)

}  // namespace interlacer
