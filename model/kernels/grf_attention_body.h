/// Body of grf_attention_rows.h; the including file sets INTERLACER_KERNEL_NAMESPACE and is
/// compiled for one instruction set. No include guard on purpose. Helpers are in an anonymous
/// namespace and nothing here calls inline functions of the standard library, so that no code of
/// one instruction set is linked into another. AttendGroup, WriteScaled and FinishWrites may have
/// overloads for float, declared before this file.
///
/// Bound: gathers of the rows of k and v, which a spatial order keeps in the cache. Pairs are
/// processed in groups, so that several loads are under way at once; rows are contiguous in memory.

#include "model/kernels/grf_attention_group.h"
#include "model/kernels/grf_attention_rows.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

constexpr int kLanes = 16;

template <typename T>
inline T Phi(T x, T epsilon) {
  return (x > T(0) ? x : T(0)) + epsilon;
}

template <typename T>
inline T SumLanes(T* lane) {
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

template <typename T>
inline T Dot(const T* a, const T* b, int width) {
  T lane[kLanes] = {};
  int c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] += a[c + l] * b[c + l];
  }
  for (int l = 0; c < width; ++c, ++l) lane[l] += a[c] * b[c];
  return SumLanes(lane);
}

/// Dot product a . phi(b).
template <typename T>
inline T DotPhi(const T* a, const T* b, int width, T epsilon) {
  T lane[kLanes] = {};
  int c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] += a[c + l] * Phi(b[c + l], epsilon);
  }
  for (int l = 0; c < width; ++c, ++l) lane[l] += a[c] * Phi(b[c], epsilon);
  return SumLanes(lane);
}

template <typename T>
inline void AddScaled(T scale, const T* __restrict x, int width, T* __restrict y) {
  for (int c = 0; c < width; ++c) y[c] += scale * x[c];
}

template <typename T>
inline void AddScaledPhi(T scale, const T* __restrict x, T epsilon, int width, T* __restrict y) {
  for (int c = 0; c < width; ++c) y[c] += scale * Phi(x[c], epsilon);
}

template <typename T>
inline void WriteScaled(T scale, const T* __restrict x, int width, T* __restrict y) {
  for (int c = 0; c < width; ++c) y[c] = scale * x[c];
}

template <typename T>
inline void FinishWrites(const T*) {}

template <typename T>
inline void Zero(int width, T* y) {
  for (int c = 0; c < width; ++c) y[c] = T(0);
}

/// Maps the gradient of phi(x) to that of x: phi'(x) is 1 for x > 0 and 0 elsewhere.
template <typename T>
inline void MaskByRelu(const T* __restrict x, int width, T* __restrict grad) {
  for (int c = 0; c < width; ++c) grad[c] = x[c] > T(0) ? grad[c] : T(0);
}

template <typename T>
inline std::int64_t Node(const GrfPackedPairs<T>& pairs, std::int64_t e) {
  return pairs.entries[e] & kWalkNodeMask;
}
template <typename T>
inline T Weight(const GrfPackedPairs<T>& pairs, std::int64_t e) {
  return pairs.table[pairs.entries[e] >> kWalkCodeShift];
}
template <typename T>
inline std::int64_t Node(const GrfWeightedPairs<T>& pairs, std::int64_t e) {
  return pairs.nodes[e];
}
template <typename T>
inline T Weight(const GrfWeightedPairs<T>& pairs, std::int64_t e) {
  return pairs.weights[e];
}
/// sum += w s and o += w s v for the pairs of a group, in order.
template <typename T>
inline void AttendGroup(const GrfGroup<T>& group, const T* phi_q, int dq, int dv, T epsilon, T* sum,
                        T* o) {
  for (int p = 0; p < group.count; ++p) {
    const T ws = group.weight[p] * DotPhi(phi_q, group.k[p], dq, epsilon);
    *sum += ws;
    AddScaled(ws, group.v[p], dv, o);
  }
}

template <typename T>
inline void PutWeightGrad(const GrfPackedPairs<T>& pairs, std::int64_t e, T grad, T* grads) {
  grads[pairs.entries[e] >> kWalkCodeShift] += grad;
}
template <typename T>
inline void PutWeightGrad(const GrfWeightedPairs<T>&, std::int64_t e, T grad, T* grads) {
  grads[e] = grad;
}

}  // namespace

template <typename T, typename Pairs>
void GrfForwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in,
                    const GrfEpsilons& epsilons, std::int64_t begin, std::int64_t end, T* phi_row,
                    T* out, T* normalizer) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  const T epsilon = static_cast<T>(epsilons.feature);
  for (std::int64_t i = begin; i < end; ++i) {
    const T* q = in.q + i * dq;
    for (int c = 0; c < dq; ++c) phi_row[c] = Phi(q[c], epsilon);
    T* o = phi_row + dq;
    Zero(dv, o);
    T sum = static_cast<T>(epsilons.normalizer);
    GrfGroup<T> group;
    for (std::int64_t e = pairs.offsets[i]; e < pairs.offsets[i + 1]; e += group.count) {
      const std::int64_t left = pairs.offsets[i + 1] - e;
      group.count = static_cast<int>(left < kGroupPairs ? left : kGroupPairs);
      for (int p = 0; p < group.count; ++p) {
        const std::int64_t j = Node(pairs, e + p);
        group.k[p] = in.k + j * dq;
        group.v[p] = in.v + j * dv;
        group.weight[p] = Weight(pairs, e + p);
      }
      AttendGroup(group, phi_row, dq, dv, epsilon, &sum, o);
    }
    normalizer[i] = sum;
    WriteScaled(sum == T(0) ? T(0) : T(1) / sum, o, dv, out + i * dv);
  }
  FinishWrites(out);
}

/// Backward pass of a row. With a_i = g_i / S_i, b_i = -(g_i . out_i) / S_i and t_e = a_i . v_j +
/// b_i:
///   d phi(q_i) = sum_e w_e t_e phi(k_j),   d w_e = s_e t_e,
///   value_load_e = w_e s_e / S_i,          key_load_e = w_e t_e.
template <typename T, typename Pairs>
void GrfBackwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in,
                     const GrfSaved<T>& saved, const GrfEpsilons& epsilons, std::int64_t begin,
                     std::int64_t end, T* phi_row, T* grad_q, T* grad_weights, T* value_load,
                     T* key_load) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  const T epsilon = static_cast<T>(epsilons.feature);
  for (std::int64_t i = begin; i < end; ++i) {
    const T* q = in.q + i * dq;
    for (int c = 0; c < dq; ++c) phi_row[c] = Phi(q[c], epsilon);
    const T* g = saved.grad_out + i * dv;
    const T inverse = saved.normalizer[i] == T(0) ? T(0) : T(1) / saved.normalizer[i];
    const T b = -inverse * Dot(g, saved.out + i * dv, dv);
    T* dq_row = grad_q + i * dq;
    Zero(dq, dq_row);
    for (std::int64_t e = pairs.offsets[i]; e < pairs.offsets[i + 1]; ++e) {
      const std::int64_t j = Node(pairs, e);
      const T w = Weight(pairs, e);
      const T s = DotPhi(phi_row, in.k + j * dq, dq, epsilon);
      const T t = inverse * Dot(g, in.v + j * dv, dv) + b;
      PutWeightGrad(pairs, e, s * t, grad_weights);
      value_load[e] = w * s * inverse;
      key_load[e] = w * t;
      AddScaledPhi(key_load[e], in.k + j * dq, epsilon, dq, dq_row);
    }
    MaskByRelu(q, dq, dq_row);
  }
}

/// Backward pass of an end node j: dv_j = sum_i value_load g_i,   d phi(k_j) = sum_i key_load
/// phi(q_i).
template <typename T>
void GrfBackwardColumns(const GrfShape& shape, const GrfTransposedPairs& transposed,
                        const GrfInputs<T>& in, const T* grad_out, const GrfEpsilons& epsilons,
                        std::int64_t begin, std::int64_t end, const T* value_load,
                        const T* key_load, T* grad_k, T* grad_v) {
  const int dq = shape.qk_width;
  const int dv = shape.v_width;
  const T epsilon = static_cast<T>(epsilons.feature);
  for (std::int64_t j = begin; j < end; ++j) {
    T* dk_row = grad_k + j * dq;
    T* dv_row = grad_v + j * dv;
    Zero(dq, dk_row);
    Zero(dv, dv_row);
    for (std::int64_t p = transposed.offsets[j]; p < transposed.offsets[j + 1]; ++p) {
      const std::int64_t i = transposed.roots[p];
      const std::int64_t e = transposed.entry_index[p];
      AddScaledPhi(key_load[e], in.q + i * dq, epsilon, dq, dk_row);
      AddScaled(value_load[e], grad_out + i * dv, dv, dv_row);
    }
    MaskByRelu(in.k + j * dq, dq, dk_row);
  }
}

#define INTERLACER_INSTANTIATE_PAIRS(T, Pairs)                                                     \
  template void GrfForwardRows<T, Pairs<T>>(const GrfShape&, const Pairs<T>&, const GrfInputs<T>&, \
                                            const GrfEpsilons&, std::int64_t, std::int64_t, T*,    \
                                            T*, T*);                                               \
  template void GrfBackwardRows<T, Pairs<T>>(                                                      \
      const GrfShape&, const Pairs<T>&, const GrfInputs<T>&, const GrfSaved<T>&,                   \
      const GrfEpsilons&, std::int64_t, std::int64_t, T*, T*, T*, T*, T*);
#define INTERLACER_INSTANTIATE(T)                                                        \
  INTERLACER_INSTANTIATE_PAIRS(T, GrfPackedPairs)                                        \
  INTERLACER_INSTANTIATE_PAIRS(T, GrfWeightedPairs)                                      \
  template void GrfBackwardColumns<T>(const GrfShape&, const GrfTransposedPairs&,        \
                                      const GrfInputs<T>&, const T*, const GrfEpsilons&, \
                                      std::int64_t, std::int64_t, const T*, const T*, T*, T*);
INTERLACER_INSTANTIATE(float)
INTERLACER_INSTANTIATE(double)
#undef INTERLACER_INSTANTIATE
#undef INTERLACER_INSTANTIATE_PAIRS

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
