#include <vector>

#include "common/thread_pool.h"
#include "model/kernels/linear_attention.h"

#define INTERLACER_KERNEL_BODY linear_generic
#include "model/kernels/linear_attention_body.h"

namespace interlacer {
namespace {

std::int64_t TileCount(std::int64_t n) {
  return (n + kLinearAttentionTile - 1) / kLinearAttentionTile;
}

std::int64_t StateCount(const LinearAttentionShape& shape) {
  return static_cast<std::int64_t>(shape.heads) * shape.head_width * (shape.head_width + 1);
}

/// Runs body(first_token, token_count, tile_state) on every tile, then writes the tile states'
/// sum times 1/n, added in tile order, to `state`.
template <typename T, typename Body>
void SumTiles(const LinearAttentionShape& shape, T* tile_states, T* state,
              ParallelForFunction parallel_for, const Body& body) {
  const std::int64_t state_count = StateCount(shape);
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    T* tile = tile_states + begin / kLinearAttentionTile * state_count;
    for (std::int64_t x = 0; x < state_count; ++x) tile[x] = T(0);
    body(begin, end - begin, tile);
  });
  const std::int64_t tiles = TileCount(shape.n);
  const T scale = T(1) / static_cast<T>(shape.n);
  for (std::int64_t x = 0; x < state_count; ++x) {
    T sum = T(0);
    for (std::int64_t tile = 0; tile < tiles; ++tile) sum += tile_states[tile * state_count + x];
    state[x] = sum * scale;
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
  const int width = shape.head_width;
  const int stride = shape.heads * width;
  const std::int64_t head_state = static_cast<std::int64_t>(width) * (width + 1);
  const T epsilon = static_cast<T>(epsilons.feature);
  SumTiles(shape, scratch, outputs.state, parallel_for,
           [&](std::int64_t begin, std::int64_t tokens, T* tile_state) {
             for (int h = 0; h < shape.heads; ++h) {
               const std::int64_t at = begin * stride + h * width;
               linear_generic::AddState(inputs.k + at, inputs.v + at,
                                        MaskAt(inputs.key_mask, begin), tokens, stride, width,
                                        epsilon, tile_state + h * head_state);
             }
           });
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    for (int h = 0; h < shape.heads; ++h) {
      const std::int64_t at = begin * stride + h * width;
      linear_generic::ApplyState(inputs.q + at, outputs.state + h * head_state, end - begin, stride,
                                 width, shape.heads, epsilon, static_cast<T>(epsilons.normalizer),
                                 outputs.out + at, outputs.normalizer + begin * shape.heads + h);
    }
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
  const int width = shape.head_width;
  const int stride = shape.heads * width;
  const std::int64_t head_state = static_cast<std::int64_t>(width) * (width + 1);
  const T epsilon = static_cast<T>(epsilons.feature);
  T* grad_state = scratch;
  SumTiles(shape, scratch + StateCount(shape), grad_state, parallel_for,
           [&](std::int64_t begin, std::int64_t tokens, T* tile_state) {
             std::vector<T> a_row(static_cast<std::size_t>(width + 1));
             for (int h = 0; h < shape.heads; ++h) {
               const std::int64_t at = begin * stride + h * width;
               linear_generic::QueryBackward(
                   inputs.q + at, saved.out + at, saved.normalizer + begin * shape.heads + h,
                   saved.grad_out + at, saved.state + h * head_state, tokens, stride, width,
                   shape.heads, epsilon, a_row.data(), gradients.q + at,
                   tile_state + h * head_state);
             }
           });
  parallel_for(shape.n, kLinearAttentionTile, [&](std::int64_t begin, std::int64_t end) {
    for (int h = 0; h < shape.heads; ++h) {
      const std::int64_t at = begin * stride + h * width;
      linear_generic::KeyBackward(inputs.k + at, inputs.v + at, MaskAt(inputs.key_mask, begin),
                                  grad_state + h * head_state, end - begin, stride, width, epsilon,
                                  gradients.k + at, gradients.v + at);
    }
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
