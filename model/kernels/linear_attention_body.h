/// Loops of ReLU linear attention over a range of tokens and one head; included by one file per
/// instruction set, each in its own namespace INTERLACER_KERNEL_BODY (see grf_attention_body.h).
/// Contract and formulas: model/kernels/linear_attention.h.
///
/// A state matrix is [width, width + 1]: columns 0..width-1 are S, the last column is z. Its
/// gradient has the same form.

#include <cstdint>

#ifndef INTERLACER_KERNEL_BODY
#error "define INTERLACER_KERNEL_BODY before the include"
#endif

namespace interlacer::INTERLACER_KERNEL_BODY {

template <typename T>
inline T Phi(T x, T epsilon) {
  return (x > T(0) ? x : T(0)) + epsilon;
}

/// state += sum over tokens of m_j phi(k_j) [v_j | 1]^T, in token order.
template <typename T>
void AddState(const T* k, const T* v, const T* key_mask, std::int64_t tokens, int row_stride,
              int width, T epsilon, T* state) {
  for (std::int64_t j = 0; j < tokens; ++j) {
    const T mask = key_mask == nullptr ? T(1) : key_mask[j];
    if (mask == T(0)) continue;
    const T* k_row = k + j * row_stride;
    const T* v_row = v + j * row_stride;
    for (int a = 0; a < width; ++a) {
      const T phi = mask * Phi(k_row[a], epsilon);
      T* row = state + a * (width + 1);
      for (int b = 0; b < width; ++b) row[b] += phi * v_row[b];
      row[width] += phi;
    }
  }
}

/// out_i and the denominators of a range of tokens; `normalizer` has `heads` values a token.
template <typename T>
void ApplyState(const T* q, const T* state, std::int64_t tokens, int row_stride, int width,
                int heads, T epsilon, T delta, T* out, T* normalizer) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const T* q_row = q + i * row_stride;
    T* o = out + i * row_stride;
    for (int b = 0; b < width; ++b) o[b] = T(0);
    T sum = delta;
    for (int a = 0; a < width; ++a) {
      const T phi = Phi(q_row[a], epsilon);
      const T* row = state + a * (width + 1);
      for (int b = 0; b < width; ++b) o[b] += phi * row[b];
      sum += phi * row[width];
    }
    normalizer[i * heads] = sum;
    const T scale = sum == T(0) ? T(0) : T(1) / sum;
    for (int b = 0; b < width; ++b) o[b] *= scale;
  }
}

/// With a_i = g_i / den_i and b_i = -(g_i . out_i) / den_i:
///   d phi(q_i) = S a_i + b_i z,   grad_state += phi(q_i) [a_i | b_i]^T.
/// `a_row` is scratch of width + 1.
template <typename T>
void QueryBackward(const T* q, const T* out, const T* normalizer, const T* grad_out, const T* state,
                   std::int64_t tokens, int row_stride, int width, int heads, T epsilon, T* a_row,
                   T* grad_q, T* grad_state) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const T* q_row = q + i * row_stride;
    const T* o = out + i * row_stride;
    const T* g = grad_out + i * row_stride;
    const T den = normalizer[i * heads];
    const T inverse = den == T(0) ? T(0) : T(1) / den;
    T dot = T(0);
    for (int b = 0; b < width; ++b) {
      a_row[b] = inverse * g[b];
      dot += a_row[b] * o[b];
    }
    a_row[width] = -dot;
    T* dq = grad_q + i * row_stride;
    for (int a = 0; a < width; ++a) {
      const T phi = Phi(q_row[a], epsilon);
      const T* row = state + a * (width + 1);
      T* grad_row = grad_state + a * (width + 1);
      T sum = T(0);
      for (int b = 0; b <= width; ++b) sum += row[b] * a_row[b];
      for (int b = 0; b <= width; ++b) grad_row[b] += phi * a_row[b];
      dq[a] = q_row[a] > T(0) ? sum : T(0);
    }
  }
}

/// d phi(k_j) = m_j (dS v_j + dz),   dv_j = m_j dS^T phi(k_j); grad_state is already scaled by 1/n.
template <typename T>
void KeyBackward(const T* k, const T* v, const T* key_mask, const T* grad_state,
                 std::int64_t tokens, int row_stride, int width, T epsilon, T* grad_k, T* grad_v) {
  for (std::int64_t j = 0; j < tokens; ++j) {
    const T mask = key_mask == nullptr ? T(1) : key_mask[j];
    const T* k_row = k + j * row_stride;
    const T* v_row = v + j * row_stride;
    T* dk = grad_k + j * row_stride;
    T* dv = grad_v + j * row_stride;
    for (int b = 0; b < width; ++b) dv[b] = T(0);
    for (int a = 0; a < width; ++a) {
      const T phi = mask * Phi(k_row[a], epsilon);
      const T* row = grad_state + a * (width + 1);
      T sum = row[width];
      for (int b = 0; b < width; ++b) sum += row[b] * v_row[b];
      for (int b = 0; b < width; ++b) dv[b] += phi * row[b];
      dk[a] = k_row[a] > T(0) ? mask * sum : T(0);
    }
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_BODY
