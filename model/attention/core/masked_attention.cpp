#include "model/attention/core/masked_attention.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/check.h"

namespace interlacer::attention {
namespace {

/// v with a column of ones: its sums are the denominators.
torch::Tensor WithOnes(const torch::Tensor& v) {
  return at::cat({v, at::ones_like(v.slice(3, 0, 1))}, 3);
}

torch::Tensor NormalisedByLast(const torch::Tensor& sums, double delta) {
  return Normalised(sums.slice(3, 0, -1), sums.slice(3, -1), delta);
}

/// [1 or H,n] -> [B*H,n].
torch::Tensor OfEveryBatch(const torch::Tensor& values, std::int64_t batch, std::int64_t heads) {
  return values.unsqueeze(0)
      .expand({batch, heads, values.size(1)})
      .reshape({batch * heads, values.size(1)});
}

torch::Tensor DenseEntries(const Mask* mask, const torch::Tensor& like) {
  return mask == nullptr ? torch::Tensor() : mask->Dense().to(like.scalar_type());
}

torch::Tensor Folded(const torch::Tensor& x) { return x.reshape({-1, x.size(2), x.size(3)}); }

/// x [B,H,L,C] -> M x.
torch::Tensor ProductOfBatches(const Mask& mask, const torch::Tensor& x) {
  const std::int64_t batch = x.size(0), heads = x.size(1), length = x.size(2);
  const torch::Tensor columns = x.permute({1, 2, 0, 3}).reshape({heads, length, -1});
  return mask.Product(columns).reshape({heads, length, batch, x.size(3)}).permute({2, 0, 1, 3});
}

/// Sums of weights times values, and of weights: [B,H,L,dv+1].
torch::Tensor SumsOfPairs(const torch::Tensor& weights, const torch::Tensor& v,
                          const SparsePatternPtr& pattern) {
  return SparseProduct(pattern, weights, Folded(WithOnes(v)))
      .reshape({v.size(0), v.size(1), pattern->rows, -1});
}

/// In place of logits that are out, below all that are in.
constexpr double kOfPairsOut = -1e30;

/// The largest logits of rows, and 0 of rows whose pairs are all out.
torch::Tensor OrZero(const torch::Tensor& largest) {
  return largest.masked_fill(largest <= kOfPairsOut, 0);
}

/// delta of weights that are divided by exp(largest): beyond e^80 of them nothing is left of a row.
torch::Tensor DeltaOfShifted(double delta, const torch::Tensor& largest) {
  return delta * at::exp((-largest).clamp_max(80));
}

/// M exp(logits - largest), and largest [B,H,L,1], the maximum of a row's logits.
struct ShiftedWeights {
  torch::Tensor weights, largest;
};

ShiftedWeights WeightsOfLogits(const torch::Tensor& logits, const AttentionInputs& inputs,
                               const torch::Tensor& mask) {
  const torch::Tensor kept = inputs.KeyMask().transpose(2, 3);
  const torch::Tensor weight = mask.defined() ? mask * kept : kept;
  const torch::Tensor is_out = (weight == 0).expand_as(logits);
  const torch::Tensor largest =
      OrZero(at::amax(logits.detach().masked_fill(is_out, kOfPairsOut), {3}, true));
  return {WeightedExponentials(logits - largest, weight, kept), largest};
}

/// Features of tokens times entries of the mask's factor: row i holds, for every entry (i,l) and
/// feature a, values phi_a(i) w at column a L + l.
MaskPairs MaskedFeatures(const torch::Tensor& features, const MaskPairs& factor) {
  const SparsePattern& pattern = *factor.pattern;
  const std::int64_t m = features.size(2);
  std::vector<std::int64_t> offsets, indices;
  offsets.reserve(pattern.offsets.size());
  indices.reserve(pattern.indices.size() * static_cast<std::size_t>(m));
  for (const std::int64_t offset : pattern.offsets) offsets.push_back(offset * m);
  for (const std::int64_t index : pattern.indices) {
    for (std::int64_t a = 0; a < m; ++a) indices.push_back(a * pattern.columns + index);
  }
  const torch::Tensor of_entries = at::index_select(features, 1, RowsOf(pattern));
  return {MakePattern(pattern.rows, m * pattern.columns, std::move(offsets), std::move(indices)),
          (of_entries * factor.values.unsqueeze(2))
              .reshape({features.size(0), pattern.entry_count() * m})};
}

torch::Tensor AttendSparseFeatures(const Features& features, const torch::Tensor& v,
                                   const SparseFactors& factors) {
  const std::int64_t batch = v.size(0), heads = v.size(1);
  const auto of_batches = [&](const MaskPairs& pairs) {
    return MaskPairs{pairs.pattern, OfEveryBatch(pairs.values, batch, heads)};
  };
  const MaskPairs keys = MaskedFeatures(Folded(features.k), of_batches(factors.right));
  const torch::Tensor state = TransposedProduct(keys.pattern, keys.values, Folded(WithOnes(v)));
  const MaskPairs queries = MaskedFeatures(Folded(features.q), of_batches(factors.left));
  const torch::Tensor sums = SparseProduct(queries.pattern, queries.values, state);
  return NormalisedByLast(sums.reshape({batch, heads, v.size(2), -1}), features.delta);
}

torch::Tensor AttendFactors(const Features& features, const torch::Tensor& v,
                            const MaskFactors& factors) {
  const torch::Tensor values = WithOnes(v);
  torch::Tensor sums = at::zeros_like(values);
  for (std::int64_t r = 0; r < factors.left.size(2); ++r) {
    const auto column = [&](const torch::Tensor& factor) {
      return factor.slice(2, r, r + 1).to(v.scalar_type());
    };
    const torch::Tensor q = features.q * column(factors.left);
    const torch::Tensor k = features.k * column(factors.right);
    sums = sums + at::matmul(q, at::matmul(k.transpose(2, 3), values));
  }
  return NormalisedByLast(sums, features.delta);
}

}  // namespace

torch::Tensor Normalised(const torch::Tensor& numerator, const torch::Tensor& sums, double delta) {
  const torch::Tensor denominator = delta == 0 ? sums : sums + delta;
  const torch::Tensor is_zero = denominator == 0;
  // The division by 1 keeps the gradient of such rows finite.
  return (numerator / denominator.masked_fill(is_zero, 1)).masked_fill(is_zero, 0);
}

torch::Tensor WeightedExponentials(const torch::Tensor& shifted, const torch::Tensor& weight,
                                   const torch::Tensor& kept) {
  if (!weight.requires_grad()) return at::exp(shifted.masked_fill(weight == 0, 0)) * weight;
  // Half of the logarithms that the type has above 1: the rest is for other factors of a gradient.
  const double most = shifted.scalar_type() == at::kFloat ? 44 : 354;
  return at::exp(shifted.masked_fill(kept == 0, 0).clamp_max(most)) * weight;
}

torch::Tensor AttendByWeights(const torch::Tensor& weights, const torch::Tensor& v, double delta) {
  return Normalised(at::matmul(weights, v), weights.sum(3, true), delta);
}

torch::Tensor SoftmaxWeights(const torch::Tensor& logits, const AttentionInputs& inputs,
                             const torch::Tensor& mask) {
  return WeightsOfLogits(logits, inputs, mask).weights;
}

torch::Tensor AttendByLogits(const torch::Tensor& logits, const AttentionInputs& inputs,
                             const torch::Tensor& mask, double delta) {
  const auto [weights, largest] = WeightsOfLogits(logits, inputs, mask);
  if (delta == 0) return AttendByWeights(weights, inputs.v);
  return Normalised(at::matmul(weights, inputs.v),
                    weights.sum(3, true) + DeltaOfShifted(delta, largest));
}

torch::Tensor AttendDense(const Features& features, const torch::Tensor& v,
                          const torch::Tensor& mask) {
  const torch::Tensor scores = at::matmul(features.q, features.k.transpose(2, 3));
  return AttendByWeights(mask.defined() ? scores * mask : scores, v, features.delta);
}

torch::Tensor AttendDense(const Scores& scores, const AttentionInputs& inputs,
                          const torch::Tensor& mask) {
  if (scores.has_features()) return AttendDense(scores.MakeFeatures(inputs), inputs.v, mask);
  return AttendByLogits(Logits(inputs), inputs, mask, scores.delta());
}

torch::Tensor SumsByProducts(const Features& features, const torch::Tensor& values,
                             const Mask& mask) {
  const std::int64_t m = features.k.size(3), width = values.size(3);
  const std::int64_t tile =
      std::max<std::int64_t>(1, kTileColumns / (width * values.size(0) * values.size(1)));
  torch::Tensor sums = at::zeros_like(values);
  for (std::int64_t first = 0; first < m; first += tile) {
    const torch::Tensor k = features.k.slice(3, first, std::min(m, first + tile));
    const torch::Tensor q = features.q.slice(3, first, std::min(m, first + tile));
    const torch::Tensor outer = (k.unsqueeze(4) * values.unsqueeze(3)).flatten(3);
    const torch::Tensor product =
        ProductOfBatches(mask, outer)
            .reshape({values.size(0), values.size(1), values.size(2), k.size(3), width});
    sums = sums + (q.unsqueeze(4) * product).sum(3);
  }
  return sums;
}

torch::Tensor AttendFastmult(const Features& features, const torch::Tensor& v, const Mask& mask) {
  return NormalisedByLast(SumsByProducts(features, WithOnes(v), mask), features.delta);
}

torch::Tensor AttendPairs(const Features& features, const torch::Tensor& v,
                          const MaskPairs& pairs) {
  const torch::Tensor scores =
      SampledProducts(pairs.pattern, Folded(features.q), Folded(features.k));
  return NormalisedByLast(
      SumsOfPairs(scores * OfEveryBatch(pairs.values, v.size(0), v.size(1)), v, pairs.pattern),
      features.delta);
}

torch::Tensor AttendPairLogits(const torch::Tensor& logits, const AttentionInputs& inputs,
                               const MaskPairs& pairs, double delta) {
  const SparsePattern& pattern = *pairs.pattern;
  const torch::Tensor kept = inputs.KeyMask()
                                 .reshape({inputs.batch(), 1, -1})
                                 .index_select(2, ColumnsOf(pattern))
                                 .expand({inputs.batch(), inputs.heads(), pattern.entry_count()})
                                 .reshape({inputs.batch() * inputs.heads(), pattern.entry_count()});
  const torch::Tensor weight = OfEveryBatch(pairs.values, inputs.batch(), inputs.heads()) * kept;
  const torch::Tensor largest =
      OrZero(RowMaxima(pattern, logits.masked_fill(weight == 0, kOfPairsOut), kOfPairsOut));
  const torch::Tensor shifted = logits - at::index_select(largest, 1, RowsOf(pattern));
  const torch::Tensor sums =
      SumsOfPairs(WeightedExponentials(shifted, weight, kept), inputs.v, pairs.pattern);
  if (delta == 0) return NormalisedByLast(sums, 0);
  const torch::Tensor row_delta = DeltaOfShifted(
      delta, largest.detach().reshape({inputs.batch(), inputs.heads(), pattern.rows, 1}));
  return Normalised(sums.slice(3, 0, -1), sums.slice(3, -1) + row_delta);
}

torch::Tensor AttendPairs(const Scores& scores, const AttentionInputs& inputs,
                          const MaskPairs& pairs) {
  if (scores.has_features()) return AttendPairs(scores.MakeFeatures(inputs), inputs.v, pairs);
  const double scale = 1 / std::sqrt(static_cast<double>(inputs.width()));
  return AttendPairLogits(
      SampledProducts(pairs.pattern, Folded(inputs.q), Folded(inputs.k)) * scale, inputs, pairs,
      scores.delta());
}

torch::Tensor AttendFeatures(const Features& features, const torch::Tensor& v, const Mask* mask) {
  if (mask == nullptr) {
    const torch::Tensor state = at::matmul(features.k.transpose(2, 3), WithOnes(v));
    return NormalisedByLast(at::matmul(features.q, state), features.delta);
  }
  if (const auto factors = mask->Factors()) return AttendFactors(features, v, *factors);
  const auto factors = mask->FactorsOfPairs();
  INTERLACER_CHECK(factors.has_value(), "this mask has no features");
  return AttendSparseFeatures(features, v, *factors);
}

torch::Tensor Attend(Way way, const Features& features, const torch::Tensor& v, const Mask* mask) {
  switch (way) {
    case Way::kDense:
      return AttendDense(features, v, DenseEntries(mask, v));
    case Way::kFastmult:
      return AttendFastmult(features, v, *mask);
    case Way::kPairs:
      return AttendPairs(features, v, mask->Pairs());
    case Way::kFeatures:
      break;
  }
  return AttendFeatures(features, v, mask);
}

torch::Tensor Attend(Way way, const Scores& scores, const AttentionInputs& inputs,
                     const Mask* mask) {
  if (scores.has_features()) {
    return Attend(way, scores.MakeFeatures(inputs), inputs.v, mask);
  }
  if (way == Way::kPairs) return AttendPairs(scores, inputs, mask->Pairs());
  INTERLACER_CHECK(way == Way::kDense, "softmax scores have no features");
  return AttendDense(scores, inputs, DenseEntries(mask, inputs.v));
}

}  // namespace interlacer::attention
