#include "model/kernels/grf_attention.h"

#include <vector>

#include "common/kernels/cpu_features.h"
#include "model/kernels/grf_attention_rows.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRowsPerChunk = 256;

std::int64_t ChunkCount(std::int64_t n) { return (n + kRowsPerChunk - 1) / kRowsPerChunk; }

/// Selects the row loops for this processor's instruction set.
template <typename T, typename Pairs>
struct RowLoops {
  decltype(&cpu::GrfForwardRows<T, Pairs>) forward_rows;
  decltype(&cpu::GrfBackwardRows<T, Pairs>) backward_rows;
  decltype(&cpu::GrfBackwardColumns<T>) backward_columns;
};
template <typename T, typename Pairs>
RowLoops<T, Pairs> ChooseRowLoops() {
  return {INTERLACER_FORM_OF_HOST(GrfForwardRows<T, Pairs>),
          INTERLACER_FORM_OF_HOST(GrfBackwardRows<T, Pairs>),
          INTERLACER_FORM_OF_HOST(GrfBackwardColumns<T>)};
}

template <typename T, typename Pairs>
void Forward(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& inputs,
             const GrfEpsilons& epsilons, T* out, T* normalizer, ParallelForFunction parallel_for) {
  const auto loops = ChooseRowLoops<T, Pairs>();
  parallel_for(shape.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> phi_row(static_cast<std::size_t>(shape.qk_width) + shape.v_width);
    loops.forward_rows(shape, pairs, inputs, epsilons, begin, end, phi_row.data(), out, normalizer);
  });
}

/// Runs the row loops in parallel; weight_grads(begin) gives the destination of the weight
/// gradients of the chunk of rows that starts at `begin`.
template <typename T, typename Pairs, typename WeightGrads>
void Backward(const GrfShape& shape, const Pairs& pairs, const GrfTransposedPairs& transposed,
              const GrfInputs<T>& inputs, const GrfSaved<T>& saved, const GrfEpsilons& epsilons,
              const GrfGradients<T>& gradients, T* scratch, ParallelForFunction parallel_for,
              const WeightGrads& weight_grads) {
  const auto loops = ChooseRowLoops<T, Pairs>();
  T* value_load = scratch;
  T* key_load = scratch + pairs.offsets[shape.n];
  parallel_for(shape.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> phi_row(static_cast<std::size_t>(shape.qk_width));
    loops.backward_rows(shape, pairs, inputs, saved, epsilons, begin, end, phi_row.data(),
                        gradients.q, weight_grads(begin), value_load, key_load);
  });
  parallel_for(shape.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    loops.backward_columns(shape, transposed, inputs, saved.grad_out, epsilons, begin, end,
                           value_load, key_load, gradients.k, gradients.v);
  });
}

}  // namespace

template <typename T>
void GrfAttentionForward(const GrfShape& shape, const GrfPackedPairs<T>& pairs,
                         const GrfInputs<T>& inputs, const GrfEpsilons& epsilons, T* out,
                         T* normalizer, ParallelForFunction parallel_for) {
  Forward(shape, pairs, inputs, epsilons, out, normalizer, parallel_for);
}

template <typename T>
void GrfAttentionForward(const GrfShape& shape, const GrfWeightedPairs<T>& pairs,
                         const GrfInputs<T>& inputs, const GrfEpsilons& epsilons, T* out,
                         T* normalizer, ParallelForFunction parallel_for) {
  Forward(shape, pairs, inputs, epsilons, out, normalizer, parallel_for);
}

std::int64_t GrfBackwardScratchCount(std::int64_t n, std::int64_t nnz) {
  return 2 * nnz + ChunkCount(n) * kWalkCodes;
}

template <typename T>
void GrfAttentionBackward(const GrfShape& shape, const GrfPackedPairs<T>& pairs,
                          const GrfTransposedPairs& transposed, const GrfInputs<T>& inputs,
                          const GrfSaved<T>& saved, const GrfEpsilons& epsilons,
                          const GrfGradients<T>& gradients, T* scratch,
                          ParallelForFunction parallel_for) {
  for (int code = 0; code < kWalkCodes; ++code) gradients.weights[code] = T(0);
  if (shape.n == 0) return;
  // Each chunk of rows has a table of sums; tables are added in chunk order: no atomics, one fixed
  // order.
  T* tables = scratch + 2 * static_cast<std::int64_t>(pairs.offsets[shape.n]);
  const std::int64_t table_values = ChunkCount(shape.n) * kWalkCodes;
  for (std::int64_t x = 0; x < table_values; ++x) tables[x] = T(0);
  Backward(shape, pairs, transposed, inputs, saved, epsilons, gradients, scratch, parallel_for,
           [tables](std::int64_t begin) { return tables + begin / kRowsPerChunk * kWalkCodes; });
  for (int code = 0; code < kWalkCodes; ++code) {
    double sum = 0;
    for (std::int64_t x = code; x < table_values; x += kWalkCodes) sum += tables[x];
    gradients.weights[code] = static_cast<T>(sum);
  }
}

template <typename T>
void GrfAttentionBackward(const GrfShape& shape, const GrfWeightedPairs<T>& pairs,
                          const GrfTransposedPairs& transposed, const GrfInputs<T>& inputs,
                          const GrfSaved<T>& saved, const GrfEpsilons& epsilons,
                          const GrfGradients<T>& gradients, T* scratch,
                          ParallelForFunction parallel_for) {
  if (shape.n == 0) return;
  Backward(shape, pairs, transposed, inputs, saved, epsilons, gradients, scratch, parallel_for,
           [&gradients](std::int64_t) { return gradients.weights; });
}

#define INTERLACER_INSTANTIATE(T, PAIRS)                                                      \
  template void GrfAttentionForward<T>(const GrfShape&, const PAIRS<T>&, const GrfInputs<T>&, \
                                       const GrfEpsilons&, T*, T*, ParallelForFunction);      \
  template void GrfAttentionBackward<T>(                                                      \
      const GrfShape&, const PAIRS<T>&, const GrfTransposedPairs&, const GrfInputs<T>&,       \
      const GrfSaved<T>&, const GrfEpsilons&, const GrfGradients<T>&, T*, ParallelForFunction);
INTERLACER_INSTANTIATE(float, GrfPackedPairs)
INTERLACER_INSTANTIATE(float, GrfWeightedPairs)
INTERLACER_INSTANTIATE(double, GrfPackedPairs)
INTERLACER_INSTANTIATE(double, GrfWeightedPairs)
#undef INTERLACER_INSTANTIATE

}  // namespace interlacer
