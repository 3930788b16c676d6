// Masks with tokens that see all and that all see.

#include <ATen/Functions.h>

#include <optional>
#include <utility>
#include <vector>

#include "model/attention/masks/basic_masks.h"

namespace interlacer::attention {
namespace {

/// A pattern being written, whose entries are 1 or an entry of another pattern.
class BorderedPattern {
 public:
  explicit BorderedPattern(std::int64_t columns) : columns_(columns) {}
  void AddOne(std::int64_t column) {
    indices_.push_back(column);
    sources_.push_back(0);
  }
  void AddRowOf(const SparsePattern& inner, std::int64_t row, std::int64_t shift) {
    for (std::int64_t e = inner.offsets[row]; e < inner.offsets[row + 1]; ++e) {
      indices_.push_back(inner.indices[e] + shift);
      sources_.push_back(e + 1);
    }
  }
  void EndRow() { offsets_.push_back(static_cast<std::int64_t>(indices_.size())); }
  MaskPairs Finished(const torch::Tensor& values) && {
    const auto rows = static_cast<std::int64_t>(offsets_.size()) - 1;
    const torch::Tensor with_one = at::constant_pad_nd(values, {1, 0}, 1);
    return {MakePattern(rows, columns_, std::move(offsets_), std::move(indices_)),
            with_one.index_select(1, at::tensor(sources_, at::kLong))};
  }

 private:
  std::int64_t columns_;
  std::vector<std::int64_t> offsets_{0}, indices_, sources_;
};

class ClassTokenMask : public Mask {
 public:
  ClassTokenMask(MaskPtr inner, std::int64_t count, const torch::Tensor& like)
      : inner_(std::move(inner)), count_(count), options_(like.options().requires_grad(false)) {}

  torch::Tensor Dense() const override {
    return at::constant_pad_nd(inner_->Dense(), {count_, 0, count_, 0}, 1);
  }

  std::vector<Way> Ways() const override { return inner_->Ways(); }

  torch::Tensor Product(const torch::Tensor& x) const override {
    const torch::Tensor of_class = x.slice(1, 0, count_), rest = x.slice(1, count_);
    return at::cat(
        {x.sum(1, true).expand_as(of_class), inner_->Product(rest) + of_class.sum(1, true)}, 1);
  }

  MaskPairs Pairs() const override {
    const MaskPairs inner = inner_->Pairs();
    const std::int64_t length = inner.pattern->rows + count_;
    BorderedPattern pattern(length);
    for (std::int64_t i = 0; i < length; ++i) {
      const bool is_class = i < count_;
      for (std::int64_t j = 0; j < (is_class ? length : count_); ++j) pattern.AddOne(j);
      if (!is_class) pattern.AddRowOf(*inner.pattern, i - count_, count_);
      pattern.EndRow();
    }
    return std::move(pattern).Finished(inner.values);
  }

  /// Two columns more: class tokens times all, and the others times class tokens.
  std::optional<MaskFactors> Factors() const override {
    const auto inner = inner_->Factors();
    if (!inner) return std::nullopt;
    const std::int64_t length = inner->left.size(1) + count_;
    const torch::Tensor is_class =
        (at::arange(length, at::kLong) < count_).to(options_).reshape({1, length, 1});
    const auto with = [&](const torch::Tensor& factor, const torch::Tensor& columns) {
      return at::cat({at::constant_pad_nd(factor, {0, 0, count_, 0}, 0),
                      columns.to(factor.scalar_type()).expand({factor.size(0), length, 2})},
                     2);
    };
    return MaskFactors{with(inner->left, at::cat({is_class, 1 - is_class}, 2)),
                       with(inner->right, at::cat({at::ones_like(is_class), is_class}, 2))};
  }

  std::optional<std::int64_t> FactorWidth() const override {
    const auto inner = inner_->FactorWidth();
    return inner ? std::optional(*inner + 2) : std::nullopt;
  }

  std::optional<SparseFactors> FactorsOfPairs() const override {
    const auto inner = inner_->FactorsOfPairs();
    if (!inner) return std::nullopt;
    const auto bordered = [&](const MaskPairs& factor, bool is_left) {
      const SparsePattern& own = *factor.pattern;
      BorderedPattern pattern(own.columns + 2);
      for (std::int64_t i = 0; i < own.rows + count_; ++i) {
        const bool is_class = i < count_;
        if (!is_class) pattern.AddRowOf(own, i - count_, 0);
        if (is_class || !is_left) pattern.AddOne(own.columns);
        if (is_class != is_left) pattern.AddOne(own.columns + 1);
        pattern.EndRow();
      }
      return std::move(pattern).Finished(factor.values);
    };
    return SparseFactors{bordered(inner->left, true), bordered(inner->right, false)};
  }

 private:
  MaskPtr inner_;
  std::int64_t count_;
  torch::TensorOptions options_;
};

}  // namespace

MaskPtr WithClassTokens(MaskPtr inner, std::int64_t class_tokens, const torch::Tensor& like) {
  if (class_tokens == 0) return inner;
  return std::make_unique<ClassTokenMask>(std::move(inner), class_tokens, like);
}

}  // namespace interlacer::attention
