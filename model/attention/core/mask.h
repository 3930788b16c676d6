#pragma once

/// A mask M of attention: entry by entry, and by what makes it fast.
///
/// A mask belongs to one sequence of L tokens and to 1 or H heads; batches share it.
///   Dense [1 or H,L,L]   Product: x [H,L,C] -> M x [H,L,C]
/// Whatever a mask offers beside Dense describes the same matrix without an L x L array, unless the
/// header of the mask says that it holds up to a stated error. All is differentiable in x and in
/// the tensors that the mask was built from. Errors: torch's and StatusException; the entry points
/// of core/attention.h turn both into Status. Thread-safety: const methods may run together.
/// Source: gkat, Sec. 3 (masks with fast products); grf-masking, Eq. 2.

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/attention/core/sparse.h"
#include "model/attention/core/way.h"

namespace interlacer::attention {

/// The entries of a mask that are not zero: values [1 or H,nnz].
struct MaskPairs {
  SparsePatternPtr pattern;
  torch::Tensor values;
};

/// M = left right^T with [1 or H,L,r] each.
struct MaskFactors {
  torch::Tensor left, right;
};

/// M = left right^T, both sparse.
struct SparseFactors {
  MaskPairs left, right;
};

/// x, and 0 where |x| is at most `noise`, so that rows without weight stay 0 in products that
/// round. The gradient is that of x all the same: what is 0 may grow.
torch::Tensor WithoutNoise(const torch::Tensor& x, const torch::Tensor& noise);

class Mask {
 public:
  virtual ~Mask() = default;
  virtual torch::Tensor Dense() const = 0;
  /// Which of the ways below exist, kDense first.
  virtual std::vector<Way> Ways() const = 0;
  virtual torch::Tensor Product(const torch::Tensor& x) const;
  virtual MaskPairs Pairs() const;
  virtual std::optional<MaskFactors> Factors() const { return std::nullopt; }
  virtual std::optional<SparseFactors> FactorsOfPairs() const { return std::nullopt; }
  /// The most entries of a row of those factors, where that is known without making them.
  virtual std::optional<std::int64_t> FactorWidth() const { return std::nullopt; }
};
using MaskPtr = std::unique_ptr<const Mask>;

}  // namespace interlacer::attention
