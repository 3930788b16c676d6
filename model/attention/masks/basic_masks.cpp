#include "model/attention/masks/basic_masks.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

class DenseMask : public Mask {
 public:
  explicit DenseMask(torch::Tensor entries) : entries_(std::move(entries)) {}
  torch::Tensor Dense() const override { return entries_; }
  std::vector<Way> Ways() const override { return {Way::kDense}; }

 private:
  torch::Tensor entries_;
};

class PairMask : public Mask {
 public:
  explicit PairMask(MaskPairs pairs) : pairs_(std::move(pairs)) {}
  torch::Tensor Dense() const override { return ToDense(*pairs_.pattern, pairs_.values); }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult, Way::kPairs}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    return HeadwiseProduct(pairs_.pattern, pairs_.values, x);
  }
  MaskPairs Pairs() const override { return pairs_; }

 private:
  MaskPairs pairs_;
};

class FactorMask : public Mask {
 public:
  explicit FactorMask(MaskFactors factors) : factors_(std::move(factors)) {}
  torch::Tensor Dense() const override {
    // An outer product for every column of the factors.
    torch::Tensor entries =
        at::zeros({factors_.left.size(0), factors_.left.size(1), factors_.right.size(1)},
                  factors_.left.options().requires_grad(false));
    for (std::int64_t r = 0; r < factors_.left.size(2); ++r) {
      entries = entries +
                factors_.left.select(2, r).unsqueeze(2) * factors_.right.select(2, r).unsqueeze(1);
    }
    return entries;
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult, Way::kFeatures}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    return at::matmul(factors_.left, at::matmul(factors_.right.transpose(1, 2), x));
  }
  std::optional<MaskFactors> Factors() const override { return factors_; }
  std::optional<std::int64_t> FactorWidth() const override { return factors_.left.size(2); }

 private:
  MaskFactors factors_;
};

/// The pattern of left right^T.
struct ProductPattern {
  std::vector<std::int64_t> offsets{0}, indices;
};

std::int64_t TermCount(const SparsePattern& left, const SparsePattern& right) {
  std::int64_t count = 0;
  for (const std::int64_t column : left.indices) {
    count += right.column_offsets[column + 1] - right.column_offsets[column];
  }
  return count;
}

void RequireTerms(std::int64_t count) {
  if (count <= kMaxSharedColumns) return;
  throw StatusException(ResourceExhausted(
      reason::HOST_MEMORY, "way pairs: expected rows of features that share at most " +
                               std::to_string(kMaxSharedColumns) + " columns, got " +
                               std::to_string(count)));
}

/// Calls see(entry of left, entry of right, pair that their product belongs to) for every term, row
/// by row once the row's pairs are in `product`.
template <typename See>
void ForEachTerm(const SparsePattern& left, const SparsePattern& right, ProductPattern* product,
                 const See& see) {
  std::vector<std::int64_t>& indices = product->indices;
  std::vector<std::int64_t> pair_of(static_cast<std::size_t>(right.rows), -1);
  for (std::int64_t i = 0; i < left.rows; ++i) {
    const auto first = static_cast<std::int64_t>(indices.size());
    const auto visit = [&](const auto& see_term) {
      for (std::int64_t e = left.offsets[i]; e < left.offsets[i + 1]; ++e) {
        const std::int64_t column = left.indices[e];
        for (std::int64_t p = right.column_offsets[column]; p < right.column_offsets[column + 1];
             ++p) {
          see_term(e, right.row_of[p], right.entry_of[p]);
        }
      }
    };
    visit([&](std::int64_t, std::int64_t j, std::int64_t) {
      if (pair_of[j] >= first) return;
      pair_of[j] = first;  // seen; the number follows once the row is sorted
      indices.push_back(j);
    });
    std::sort(indices.begin() + first, indices.end());
    for (auto p = static_cast<std::size_t>(first); p < indices.size(); ++p) {
      pair_of[indices[p]] = static_cast<std::int64_t>(p);
    }
    visit([&](std::int64_t e, std::int64_t j, std::int64_t other) { see(e, other, pair_of[j]); });
    product->offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
}

/// left right^T by lists of its terms, which the gradient goes through.
MaskPairs ProductByTerms(const SparseFactors& factors) {
  ProductPattern product;
  std::vector<std::int64_t> lefts, rights, pairs;
  const std::int64_t term_count = TermCount(*factors.left.pattern, *factors.right.pattern);
  for (auto* list : {&lefts, &rights, &pairs}) list->reserve(static_cast<std::size_t>(term_count));
  ForEachTerm(*factors.left.pattern, *factors.right.pattern, &product,
              [&](std::int64_t left, std::int64_t right, std::int64_t pair) {
                lefts.push_back(left);
                rights.push_back(right);
                pairs.push_back(pair);
              });
  const torch::Tensor products =
      factors.left.values.index_select(1, at::tensor(lefts, at::kLong)) *
      factors.right.values.index_select(1, at::tensor(rights, at::kLong));
  const torch::Tensor values =
      at::zeros({products.size(0), static_cast<std::int64_t>(product.indices.size())},
                products.options().requires_grad(false))
          .index_add(1, at::tensor(pairs, at::kLong), products);
  return {MakePattern(factors.left.pattern->rows, factors.right.pattern->rows,
                      std::move(product.offsets), std::move(product.indices)),
          values};
}

/// The same without lists of terms, and without a gradient.
MaskPairs ProductOfNumbers(const SparseFactors& factors) {
  const SparsePattern &left = *factors.left.pattern, &right = *factors.right.pattern;
  const std::int64_t heads = factors.left.values.size(0);
  const torch::Tensor lefts = factors.left.values.contiguous();
  const torch::Tensor rights = factors.right.values.contiguous();
  ProductPattern product;
  torch::Tensor values;
  AT_DISPATCH_FLOATING_TYPES(lefts.scalar_type(), "ProductOfNumbers", [&] {
    const auto* left_value = lefts.const_data_ptr<scalar_t>();
    const auto* right_value = rights.const_data_ptr<scalar_t>();
    std::vector<scalar_t> sums;
    ForEachTerm(left, right, &product, [&](std::int64_t l, std::int64_t r, std::int64_t pair) {
      const auto end = product.indices.size() * static_cast<std::size_t>(heads);
      if (sums.size() < end) sums.resize(end, 0);
      for (std::int64_t h = 0; h < heads; ++h) {
        sums[pair * heads + h] +=
            left_value[h * left.entry_count() + l] * right_value[h * right.entry_count() + r];
      }
    });
    const auto count = static_cast<std::int64_t>(product.indices.size());
    values = at::empty({heads, count}, lefts.options());
    auto* value = values.mutable_data_ptr<scalar_t>();
    for (std::int64_t p = 0; p < count; ++p) {
      for (std::int64_t h = 0; h < heads; ++h) value[h * count + p] = sums[p * heads + h];
    }
  });
  return {
      MakePattern(left.rows, right.rows, std::move(product.offsets), std::move(product.indices)),
      values};
}

class SparseFactorMask : public Mask {
 public:
  explicit SparseFactorMask(SparseFactors factors) : factors_(std::move(factors)) {}
  torch::Tensor Dense() const override {
    return at::matmul(ToDense(*factors_.left.pattern, factors_.left.values),
                      ToDense(*factors_.right.pattern, factors_.right.values).transpose(1, 2));
  }
  std::vector<Way> Ways() const override {
    return {Way::kDense, Way::kFastmult, Way::kPairs, Way::kFeatures};
  }
  torch::Tensor Product(const torch::Tensor& x) const override {
    const torch::Tensor columns =
        HeadwiseProduct(factors_.right.pattern, factors_.right.values, x, true);
    return HeadwiseProduct(factors_.left.pattern, factors_.left.values, columns);
  }
  MaskPairs Pairs() const override {
    RequireTerms(TermCount(*factors_.left.pattern, *factors_.right.pattern));
    INTERLACER_CHECK(factors_.left.values.size(0) == factors_.right.values.size(0),
                     "heads of both factors");
    const bool has_gradient = at::GradMode::is_enabled() && (factors_.left.values.requires_grad() ||
                                                             factors_.right.values.requires_grad());
    return has_gradient ? ProductByTerms(factors_) : ProductOfNumbers(factors_);
  }
  std::optional<SparseFactors> FactorsOfPairs() const override { return factors_; }

 private:
  SparseFactors factors_;
};

class SegmentMask : public Mask {
 public:
  SegmentMask(const torch::Tensor& segments, const torch::Tensor& like)
      : segments_(segments), options_(like.options().requires_grad(false)) {}
  torch::Tensor Dense() const override {
    return (segments_.unsqueeze(1) == segments_.unsqueeze(0)).to(options_).unsqueeze(0);
  }
  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult, Way::kFeatures}; }
  torch::Tensor Product(const torch::Tensor& x) const override {
    // Ids may be far apart; their places in order are not.
    const auto [ids, places] = at::_unique(segments_, true, true);
    return at::zeros({x.size(0), ids.size(0), x.size(2)}, x.options().requires_grad(false))
        .index_add(1, places, x)
        .index_select(1, places);
  }
  std::optional<std::int64_t> FactorWidth() const override { return 1; }
  /// The segment of every token, as a row with a 1 there.
  std::optional<SparseFactors> FactorsOfPairs() const override {
    const auto [ids, places] = at::_unique(segments_, true, true);
    const auto* place = places.const_data_ptr<std::int64_t>();
    const std::int64_t length = segments_.size(0);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(length) + 1);
    std::iota(offsets.begin(), offsets.end(), std::int64_t{0});
    const MaskPairs factor{
        MakePattern(length, ids.size(0), std::move(offsets), {place, place + length}),
        at::ones({1, length}, options_)};
    return SparseFactors{factor, factor};
  }

 private:
  torch::Tensor segments_;
  torch::TensorOptions options_;
};

}  // namespace

std::int64_t SharedColumns(const SparseFactors& factors) {
  return TermCount(*factors.left.pattern, *factors.right.pattern);
}

MaskPtr MakeSegmentMask(const torch::Tensor& segments, const torch::Tensor& like) {
  return std::make_unique<SegmentMask>(segments, like);
}

MaskPtr MakeDenseMask(torch::Tensor entries) {
  return std::make_unique<DenseMask>(std::move(entries));
}

MaskPtr MakePairMask(MaskPairs pairs) { return std::make_unique<PairMask>(std::move(pairs)); }

MaskPtr MakeFactorMask(MaskFactors factors) {
  return std::make_unique<FactorMask>(std::move(factors));
}

MaskPtr MakeSparseFactorMask(SparseFactors factors) {
  return std::make_unique<SparseFactorMask>(std::move(factors));
}

}  // namespace interlacer::attention
