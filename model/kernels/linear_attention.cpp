#include "model/kernels/linear_attention.h"

#include <vector>

#include "common/kernels/cpu_features.h"
#include "model/kernels/linear_attention_rows.h"

namespace interlacer {
namespace {

std::int64_t TileCount(std::int64_t n) {
  return (n + kLinearAttentionTile - 1) / kLinearAttentionTile;
}

std::int64_t StateCount(const LinearAttentionShape& shape) {
  return static_cast<std::int64_t>(shape.heads) * shape.head_width * (shape.head_width + 1);
}

/// Runs body(begin, end, tile_state) on every tile, then writes 1/n times the sum of the tile
/// states, added in tile order, to `state`.
template <typename T, typename Body>
void SumTiles(const LinearAttentionShape& shape, T* tile_states, T* state,
              ParallelForFunction parallel_for, const Body& body) {
  const std::int64_t state_count = StateCount(shape);
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    T* tile = tile_states + begin / kLinearAttentionTile * state_count;
    for (std::int64_t x = 0; x < state_count; ++x) tile[x] = T(0);
    body(begin, end, tile);
  });
  const std::int64_t tiles = TileCount(shape.n);
  const T scale = T(1) / static_cast<T>(shape.n);
  for (std::int64_t x = 0; x < state_count; ++x) {
    T sum = T(0);
    for (std::int64_t tile = 0; tile < tiles; ++tile) sum += tile_states[tile * state_count + x];
    state[x] = sum * scale;
  }
}

/// Selects the row loops for this processor's instruction set.
template <typename T>
struct RowLoops {
  decltype(&cpu::LinearAddState<T>) add_state;
  decltype(&cpu::LinearApplyState<T>) apply_state;
  decltype(&cpu::LinearQueryBackward<T>) query_backward;
  decltype(&cpu::LinearKeyBackward<T>) key_backward;
};
template <typename T>
RowLoops<T> ChooseRowLoops() {
  return {INTERLACER_FORM_OF_HOST(LinearAddState<T>), INTERLACER_FORM_OF_HOST(LinearApplyState<T>),
          INTERLACER_FORM_OF_HOST(LinearQueryBackward<T>),
          INTERLACER_FORM_OF_HOST(LinearKeyBackward<T>)};
}

/// Runs body(h, at, range, scratch) for every head of the tokens [begin, end); `at` is the offset
/// of the head's first number in an [n, heads * head_width] array.
template <typename T, typename Body>
void ForEachHead(const LinearAttentionShape& shape, std::int64_t begin, std::int64_t end,
                 const Body& body) {
  const int width = shape.head_width;
  const LinearRange range{end - begin, shape.heads * width, shape.heads, width};
  std::vector<T> scratch(static_cast<std::size_t>(LinearRowScratchCount(width)));
  for (int h = 0; h < shape.heads; ++h) {
    body(h, begin * range.row_stride + h * width, range, scratch.data());
  }
}

template <typename T>
const T* MaskAt(const T* key_mask, std::int64_t token) {
  return key_mask == nullptr ? nullptr : key_mask + token;
}

}  // namespace

std::int64_t LinearAttentionScratchCount(const LinearAttentionShape& shape) {
  return (TileCount(shape.n) + 1) * StateCount(shape);
}

template <typename T>
void LinearAttentionForward(const LinearAttentionShape& shape,
                            const LinearAttentionInputs<T>& inputs,
                            const LinearAttentionEpsilons& epsilons,
                            const LinearAttentionOutputs<T>& outputs, T* scratch,
                            ParallelForFunction parallel_for) {
  if (shape.n == 0) return;
  const RowLoops<T> loops = ChooseRowLoops<T>();
  const std::int64_t head_state = StateCount(shape) / shape.heads;
  const T epsilon = static_cast<T>(epsilons.feature);
  SumTiles(shape, scratch, outputs.state, parallel_for,
           [&](std::int64_t begin, std::int64_t end, T* tile_state) {
             ForEachHead<T>(shape, begin, end,
                            [&](int h, std::int64_t at, const LinearRange& range, T* row_scratch) {
                              loops.add_state(range, inputs.k + at, inputs.v + at,
                                              MaskAt(inputs.key_mask, begin), epsilon, row_scratch,
                                              tile_state + h * head_state);
                            });
           });
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    ForEachHead<T>(
        shape, begin, end, [&](int h, std::int64_t at, const LinearRange& range, T* row_scratch) {
          loops.apply_state(range, inputs.q + at, outputs.state + h * head_state, epsilon,
                            static_cast<T>(epsilons.normalizer), row_scratch, outputs.out + at,
                            outputs.normalizer + begin * shape.heads + h);
        });
  });
}

template <typename T>
void LinearAttentionBackward(const LinearAttentionShape& shape,
                             const LinearAttentionInputs<T>& inputs,
                             const LinearAttentionSaved<T>& saved,
                             const LinearAttentionEpsilons& epsilons,
                             const LinearAttentionGradients<T>& gradients, T* scratch,
                             ParallelForFunction parallel_for) {
  if (shape.n == 0) return;
  const RowLoops<T> loops = ChooseRowLoops<T>();
  const std::int64_t head_state = StateCount(shape) / shape.heads;
  const T epsilon = static_cast<T>(epsilons.feature);
  T* grad_state = scratch;
  SumTiles(shape, scratch + StateCount(shape), grad_state, parallel_for,
           [&](std::int64_t begin, std::int64_t end, T* tile_state) {
             ForEachHead<T>(shape, begin, end,
                            [&](int h, std::int64_t at, const LinearRange& range, T* row_scratch) {
                              loops.query_backward(
                                  range, inputs.q + at, saved.out + at,
                                  saved.normalizer + begin * shape.heads + h, saved.grad_out + at,
                                  saved.state + h * head_state, epsilon, row_scratch,
                                  gradients.q + at, tile_state + h * head_state);
                            });
           });
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    ForEachHead<T>(shape, begin, end,
                   [&](int h, std::int64_t at, const LinearRange& range, T* row_scratch) {
                     loops.key_backward(range, inputs.k + at, inputs.v + at,
                                        MaskAt(inputs.key_mask, begin), grad_state + h * head_state,
                                        epsilon, row_scratch, gradients.k + at, gradients.v + at);
                   });
  });
}

#define INTERLACER_INSTANTIATE(T)                                                                 \
  template void LinearAttentionForward<T>(                                                        \
      const LinearAttentionShape&, const LinearAttentionInputs<T>&,                               \
      const LinearAttentionEpsilons&, const LinearAttentionOutputs<T>&, T*, ParallelForFunction); \
  template void LinearAttentionBackward<T>(                                                       \
      const LinearAttentionShape&, const LinearAttentionInputs<T>&,                               \
      const LinearAttentionSaved<T>&, const LinearAttentionEpsilons&,                             \
      const LinearAttentionGradients<T>&, T*, ParallelForFunction);
INTERLACER_INSTANTIATE(float)
INTERLACER_INSTANTIATE(double)
#undef INTERLACER_INSTANTIATE

}  // namespace interlacer
