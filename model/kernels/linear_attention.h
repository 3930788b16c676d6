#pragma once

/// ReLU linear attention over all tokens: forward and backward on raw pointers.
///
///   phi(x) = max(x, 0) + feature_epsilon                          per head h of width d_h
///   S_h   = 1/n sum_j m_j phi(k_j) v_j^T     [d_h, d_h]
///   z_h   = 1/n sum_j m_j phi(k_j)           [d_h]
///   out_i = phi(q_i) S_h / (phi(q_i) . z_h + normalizer_epsilon)
///
/// q, k, v, out are [n, heads * head_width] row-major, head h in columns h*head_width onwards;
/// normalizer [n, heads] holds the denominators; state [heads, head_width + 1, head_width] holds of
/// each head the rows of S_h and, as its last row, z_h.
/// key_mask [n] is 0 for padding and 1 elsewhere; null means all ones.
///
/// Determinism: the state is summed in tiles of kLinearAttentionTile tokens that are added in index
/// order, so equal calls give equal bits for any thread count. T is float or double; sums are in T.
/// Errors: none; the caller checks sizes. Threads: as model/kernels/grf_attention.h.
/// Source: grf-masking, Eq. 3 (unmasked linear attention) with ReLU features.

#include <cstdint>

#include "common/kernels/parallel_for.h"

namespace interlacer {

inline constexpr std::int64_t kLinearAttentionTile = 256;

struct LinearAttentionShape {
  std::int64_t n = 0;
  int heads = 0;
  int head_width = 0;
};

struct LinearAttentionEpsilons {
  double feature = 1e-3;
  double normalizer = 1e-12;
};

template <typename T>
struct LinearAttentionInputs {
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  const T* key_mask = nullptr;
};

template <typename T>
struct LinearAttentionOutputs {
  T* out = nullptr;
  T* normalizer = nullptr;
  T* state = nullptr;
};

/// Results of the forward pass and the gradient of its output, [n, heads * head_width].
template <typename T>
struct LinearAttentionSaved {
  const T* out = nullptr;
  const T* normalizer = nullptr;
  const T* state = nullptr;
  const T* grad_out = nullptr;
};

/// Gradients; every array is overwritten. Shapes as the inputs.
template <typename T>
struct LinearAttentionGradients {
  T* q = nullptr;
  T* k = nullptr;
  T* v = nullptr;
};

/// Number of T that either pass needs as scratch memory.
std::int64_t LinearAttentionScratchCount(const LinearAttentionShape& shape);

template <typename T>
void LinearAttentionForward(const LinearAttentionShape& shape,
                            const LinearAttentionInputs<T>& inputs,
                            const LinearAttentionEpsilons& epsilons,
                            const LinearAttentionOutputs<T>& outputs, T* scratch,
                            ParallelForFunction parallel_for);

template <typename T>
void LinearAttentionBackward(const LinearAttentionShape& shape,
                             const LinearAttentionInputs<T>& inputs,
                             const LinearAttentionSaved<T>& saved,
                             const LinearAttentionEpsilons& epsilons,
                             const LinearAttentionGradients<T>& gradients, T* scratch,
                             ParallelForFunction parallel_for);

}  // namespace interlacer
