/// Row loops of GRF attention; included by one file per instruction set, each in its own namespace
/// INTERLACER_KERNEL_BODY, so that no code compiled for one set is ever linked into another.
/// For the same reason nothing here calls an inline function of the standard library.
/// Contract and formulas: model/kernels/grf_attention.h.

#include <cstdint>

#include "model/kernels/grf_attention.h"

#ifndef INTERLACER_KERNEL_BODY
#error "define INTERLACER_KERNEL_BODY before the include"
#endif

namespace interlacer::INTERLACER_KERNEL_BODY {

inline constexpr int kLanes = 16;

template <typename T>
inline T Phi(T x, T epsilon) {
  return (x > T(0) ? x : T(0)) + epsilon;
}

/// Sum over c of a_c * phi(b_c), or a_c * b_c without epsilon; lane sums are added pairwise.
template <bool kApplyPhi, typename T>
inline T Dot(const T* a, const T* b, int width, T epsilon) {
  T lane[kLanes] = {};
  int c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      lane[l] += a[c + l] * (kApplyPhi ? Phi(b[c + l], epsilon) : b[c + l]);
    }
  }
  for (int l = 0; c < width; ++c, ++l) {
    lane[l] += a[c] * (kApplyPhi ? Phi(b[c], epsilon) : b[c]);
  }
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

template <typename T>
inline void Axpy(T scale, const T* x, int width, T* y) {
  for (int c = 0; c < width; ++c) y[c] += scale * x[c];
}

template <typename T>
inline void AxpyPhi(T scale, const T* x, T epsilon, int width, T* y) {
  for (int c = 0; c < width; ++c) y[c] += scale * Phi(x[c], epsilon);
}

template <typename T>
inline void Zero(int width, T* y) {
  for (int c = 0; c < width; ++c) y[c] = T(0);
}

/// Passes the gradient of phi(x) on to x: phi'(x) is 1 for x > 0 and 0 elsewhere.
template <typename T>
inline void MaskByRelu(const T* x, int width, T* grad) {
  for (int c = 0; c < width; ++c) grad[c] = x[c] > T(0) ? grad[c] : T(0);
}

template <typename T>
inline std::int64_t Node(const GrfPackedPairs<T>& pairs, std::int64_t e) {
  return pairs.entries[e] & 0xFFFFFFu;
}
template <typename T>
inline T Weight(const GrfPackedPairs<T>& pairs, std::int64_t e) {
  return pairs.table[pairs.entries[e] >> 24];
}
template <typename T>
inline std::int64_t Node(const GrfWeightedPairs<T>& pairs, std::int64_t e) {
  return pairs.nodes[e];
}
template <typename T>
inline T Weight(const GrfWeightedPairs<T>& pairs, std::int64_t e) {
  return pairs.weights[e];
}
/// Adds the gradient of entry e's weight; each entry is met once, so a pair's own slot is set.
template <typename T>
inline void PutWeightGrad(const GrfPackedPairs<T>& pairs, std::int64_t e, T grad, T* grads) {
  grads[pairs.entries[e] >> 24] += grad;
}
template <typename T>
inline void PutWeightGrad(const GrfWeightedPairs<T>&, std::int64_t e, T grad, T* grads) {
  grads[e] = grad;
}

/// phi_row is scratch of qk_width.
template <typename T, typename Pairs>
void ForwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in, T epsilon,
                 T delta, std::int64_t begin, std::int64_t end, T* phi_row, T* out, T* normalizer) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const T* q = in.q + i * dq;
    for (int c = 0; c < dq; ++c) phi_row[c] = Phi(q[c], epsilon);
    T* o = out + i * dv;
    Zero(dv, o);
    T sum = delta;
    for (std::int64_t e = pairs.offsets[i]; e < pairs.offsets[i + 1]; ++e) {
      const std::int64_t j = Node(pairs, e);
      const T ws = Weight(pairs, e) * Dot<true>(phi_row, in.k + j * dq, dq, epsilon);
      sum += ws;
      Axpy(ws, in.v + j * dv, dv, o);
    }
    normalizer[i] = sum;
    const T scale = sum == T(0) ? T(0) : T(1) / sum;
    for (int c = 0; c < dv; ++c) o[c] *= scale;
  }
}

/// First backward pass. With a_i = g_i / S_i, b_i = -(g_i . out_i) / S_i and t_e = a_i . v_j + b_i:
///   d phi(q_i) = sum_e w_e t_e phi(k_j),   d w_e = s_e t_e.
/// Leaves value_load_e = w_e s_e / S_i and key_load_e = w_e t_e for the second pass.
template <typename T, typename Pairs>
void BackwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in,
                  const GrfSaved<T>& saved, T epsilon, std::int64_t begin, std::int64_t end,
                  T* phi_row, T* grad_q, T* grad_weights, T* value_load, T* key_load) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const T* q = in.q + i * dq;
    for (int c = 0; c < dq; ++c) phi_row[c] = Phi(q[c], epsilon);
    const T* g = saved.grad_out + i * dv;
    const T inverse = saved.normalizer[i] == T(0) ? T(0) : T(1) / saved.normalizer[i];
    const T b = -inverse * Dot<false>(g, saved.out + i * dv, dv, epsilon);
    T* dq_row = grad_q + i * dq;
    Zero(dq, dq_row);
    for (std::int64_t e = pairs.offsets[i]; e < pairs.offsets[i + 1]; ++e) {
      const std::int64_t j = Node(pairs, e);
      const T w = Weight(pairs, e);
      const T s = Dot<true>(phi_row, in.k + j * dq, dq, epsilon);
      const T t = inverse * Dot<false>(g, in.v + j * dv, dv, epsilon) + b;
      PutWeightGrad(pairs, e, s * t, grad_weights);
      value_load[e] = w * s * inverse;
      key_load[e] = w * t;
      AxpyPhi(key_load[e], in.k + j * dq, epsilon, dq, dq_row);
    }
    MaskByRelu(q, dq, dq_row);
  }
}

/// Second backward pass, by end node j: dv_j = sum_i value_load g_i, d phi(k_j) = sum_i key_load
/// phi(q_i).
template <typename T>
void BackwardColumns(const GrfShape& shape, const GrfTransposedPairs& transposed,
                     const GrfInputs<T>& in, const T* grad_out, T epsilon, std::int64_t begin,
                     std::int64_t end, const T* value_load, const T* key_load, T* grad_k,
                     T* grad_v) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  for (std::int64_t j = begin; j < end; ++j) {
    T* dk_row = grad_k + j * dq;
    T* dv_row = grad_v + j * dv;
    Zero(dq, dk_row);
    Zero(dv, dv_row);
    for (std::int64_t p = transposed.offsets[j]; p < transposed.offsets[j + 1]; ++p) {
      const std::int64_t i = transposed.roots[p];
      const std::int64_t e = transposed.entry_index[p];
      AxpyPhi(key_load[e], in.q + i * dq, epsilon, dq, dk_row);
      Axpy(value_load[e], grad_out + i * dv, dv, dv_row);
    }
    MaskByRelu(in.k + j * dq, dq, dk_row);
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_BODY
