#pragma once

/// Products with sparse matrices of a fixed pattern, differentiable in values and operands.
///
/// A pattern is in CSR form: the entries of row i are [offsets[i], offsets[i+1]); entries may
/// repeat a column. G is a batch of matrices that share the pattern.
///   values [G,nnz]   x [G,columns,C]   a [G,rows,m]   b [G,columns,m]
/// Memory is that of operands and results. Sums run in the order of the entries: equal bits for any
/// thread count. Gradients of any order. Errors: INTERLACER_CHECK for shapes that do not fit, and
/// torch's. Thread-safety: pure functions; they use common/thread_pool.h inside.

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace interlacer::attention {

struct SparsePattern {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> indices;
  // The same entries by column: rows and numbers of entries.
  std::vector<std::int64_t> column_offsets{0};
  std::vector<std::int64_t> row_of;
  std::vector<std::int64_t> entry_of;

  std::int64_t entry_count() const { return static_cast<std::int64_t>(indices.size()); }
};
using SparsePatternPtr = std::shared_ptr<const SparsePattern>;

/// Fills in the entries by column.
SparsePatternPtr MakePattern(std::int64_t rows, std::int64_t columns,
                             std::vector<std::int64_t> offsets, std::vector<std::int64_t> indices);
/// Of the entries, in order: [nnz].
torch::Tensor RowsOf(const SparsePattern& pattern);
torch::Tensor ColumnsOf(const SparsePattern& pattern);

/// S x: [G,rows,C].
torch::Tensor SparseProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                            const torch::Tensor& x);
/// S^T x: [G,columns,C] of x [G,rows,C].
torch::Tensor TransposedProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                                const torch::Tensor& x);
/// a_i . b_j at every entry (i,j): [G,nnz].
torch::Tensor SampledProducts(const SparsePatternPtr& pattern, const torch::Tensor& a,
                              const torch::Tensor& b);

/// S x or S^T x for values [1 or H,nnz] and x [H,L,C]: one matrix serves all heads if there is one.
torch::Tensor HeadwiseProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                              const torch::Tensor& x, bool is_transposed = false);

/// The largest value of every row and `least`: [G,rows], without gradient.
torch::Tensor RowMaxima(const SparsePattern& pattern, const torch::Tensor& values, double least);

/// The matrix with all its entries, [G,rows,columns]; repeated ones are added.
torch::Tensor ToDense(const SparsePattern& pattern, const torch::Tensor& values);

}  // namespace interlacer::attention
