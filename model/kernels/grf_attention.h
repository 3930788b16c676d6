#pragma once

/// Linear attention masked by a sparse list of node pairs: forward and backward on raw pointers.
///
///   phi(x) = max(x, 0) + feature_epsilon        s_e = phi(q_i) . phi(k_j)   for a pair e = (i,j)
///   S_i    = sum_e w_e s_e + normalizer_epsilon
///   out_i  = sum_e w_e s_e v_j / S_i             a row without pairs gives 0
///
/// Arrays are row-major: q, k [n,qk_width]; v, out [n,v_width]; normalizer [n] holds S.
/// Neighbouring rows gather overlapping rows of k and v: nodes in a spatial order
/// (knn/spatial_order.h) save most of the memory traffic.
/// Pairs are in CSR form (offsets [n+1]); the weight w_e is either looked up in a table by the
/// 8-bit path-count code of a packed entry (knn/knn_graph.h) or given per pair. The caller maps
/// learned coefficients to weights and passes the gradient on through this map.
///
/// Determinism: every sum has a fixed order that depends on the inputs alone, so equal calls give
/// equal bits for any thread count; nothing is accumulated with atomics. T is float or double.
/// Errors: none; the caller checks sizes and indices. Threads: functions may run together on
/// different outputs; each spreads its rows with the `parallel_for` that it is given.
/// S_i is the only normaliser: the further division by the number of walks in Alg. 2 is left out.
/// Source: grf-masking, Alg. 2 in its asymmetric form.

#include <cstdint>

#include "common/kernels/parallel_for.h"
#include "common/kernels/walk_entry.h"

namespace interlacer {

struct GrfShape {
  std::int64_t n = 0;
  int qk_width = 0;
  int v_width = 0;
};

struct GrfEpsilons {
  double feature = 1e-3;
  double normalizer = 1e-12;
};

/// Pairs packed as in common/kernels/walk_entry.h; table [256] is the weight of each path-count
/// code.
template <typename T>
struct GrfPackedPairs {
  const std::int32_t* offsets = nullptr;
  const std::uint32_t* entries = nullptr;
  const T* table = nullptr;
};

/// Pairs with weights of their own: nodes [nnz], weights [nnz].
template <typename T>
struct GrfWeightedPairs {
  const std::int32_t* offsets = nullptr;
  const std::int32_t* nodes = nullptr;
  const T* weights = nullptr;
};

/// The same pairs sorted by end node (knn/knn_graph.h, TransposedLists).
struct GrfTransposedPairs {
  const std::int32_t* offsets = nullptr;
  const std::int32_t* roots = nullptr;
  const std::int32_t* entry_index = nullptr;
};

template <typename T>
struct GrfInputs {
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
};

/// Results of the forward pass that the backward pass needs, and the gradient of its output
/// [n,v_width].
template <typename T>
struct GrfSaved {
  const T* out = nullptr;
  const T* normalizer = nullptr;
  const T* grad_out = nullptr;
};

/// Gradients; every array is overwritten. `weights` is [256] for packed pairs, [nnz] for weighted
/// pairs.
template <typename T>
struct GrfGradients {
  T* q = nullptr;
  T* k = nullptr;
  T* v = nullptr;
  T* weights = nullptr;
};

template <typename T>
void GrfAttentionForward(const GrfShape& shape, const GrfPackedPairs<T>& pairs,
                         const GrfInputs<T>& inputs, const GrfEpsilons& epsilons, T* out,
                         T* normalizer, ParallelForFunction parallel_for);
template <typename T>
void GrfAttentionForward(const GrfShape& shape, const GrfWeightedPairs<T>& pairs,
                         const GrfInputs<T>& inputs, const GrfEpsilons& epsilons, T* out,
                         T* normalizer, ParallelForFunction parallel_for);

/// Number of T that the backward pass needs as scratch memory.
std::int64_t GrfBackwardScratchCount(std::int64_t n, std::int64_t nnz);

template <typename T>
void GrfAttentionBackward(const GrfShape& shape, const GrfPackedPairs<T>& pairs,
                          const GrfTransposedPairs& transposed, const GrfInputs<T>& inputs,
                          const GrfSaved<T>& saved, const GrfEpsilons& epsilons,
                          const GrfGradients<T>& gradients, T* scratch,
                          ParallelForFunction parallel_for);
template <typename T>
void GrfAttentionBackward(const GrfShape& shape, const GrfWeightedPairs<T>& pairs,
                          const GrfTransposedPairs& transposed, const GrfInputs<T>& inputs,
                          const GrfSaved<T>& saved, const GrfEpsilons& epsilons,
                          const GrfGradients<T>& gradients, T* scratch,
                          ParallelForFunction parallel_for);

}  // namespace interlacer
