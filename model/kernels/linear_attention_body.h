/// Body of linear_attention_rows.h; the including file sets INTERLACER_KERNEL_NAMESPACE and is
/// compiled for one instruction set. No include guard on purpose; rules as grf_attention_body.h.
///
/// Every inner loop is a sum of scaled rows, never a sum over lanes, so results do not depend on
/// the register width. The usual head widths are compile-time constants: kWidth, or 0 for any.
///
/// Bound: arithmetic, two multiply-adds for each token and number of the state, which stays in the
/// first cache; tokens are read once, in order.

#include "model/kernels/linear_attention_rows.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

template <typename T>
inline T Phi(T x, T epsilon) {
  return (x > T(0) ? x : T(0)) + epsilon;
}

template <typename T>
inline void AddScaled(T scale, const T* __restrict x, int width, T* __restrict y) {
  for (int c = 0; c < width; ++c) y[c] += scale * x[c];
}

/// y = sum over rows r of coefficients[r] * matrix[r, :].
template <typename T>
inline void SumOfRows(const T* __restrict coefficients, const T* __restrict matrix, int width,
                      T* __restrict y) {
  for (int r = 0; r < width; ++r) AddScaled(coefficients[r], matrix + r * width, width, y);
}

/// Transposes the S of a state.
template <typename T>
inline void Transpose(const T* state, int width, T* transposed) {
  for (int a = 0; a < width; ++a) {
    for (int b = 0; b < width; ++b) transposed[b * width + a] = state[a * width + b];
  }
}

/// Columns of a row that fill a register. Explicit where rows are a constant number: left to itself
/// the compiler takes several rows together and shuffles their columns for longer than it adds.
template <typename T>
struct PieceOf {
  typedef T Type __attribute__((vector_size(64), aligned(alignof(T)), may_alias));
  static constexpr int kLanes = 64 / sizeof(T);
};

/// matrix[r, :] += coefficients[r] * x for every row.
template <int kWidth, typename T>
inline void AddOuter(const T* __restrict coefficients, const T* __restrict x, int width,
                     T* __restrict matrix) {
  if constexpr (kWidth == 0) {
    for (int r = 0; r < width; ++r) AddScaled(coefficients[r], x, width, matrix + r * width);
  } else {
    using Piece = typename PieceOf<T>::Type;
    constexpr int kPieces = kWidth / PieceOf<T>::kLanes;
    const auto* const from = reinterpret_cast<const Piece*>(x);
    auto* const to = reinterpret_cast<Piece*>(matrix);
    for (int r = 0; r < kWidth; ++r) {
      for (int p = 0; p < kPieces; ++p) to[r * kPieces + p] += coefficients[r] * from[p];
    }
  }
}

/// As many rows of the state at a time as fill 16 registers, which they never leave.
template <int kWidth, typename T>
void AddStateInRegisters(const LinearRange& range, const T* k, const T* v, const T* key_mask,
                         T epsilon, T* __restrict state) {
  using Piece = typename PieceOf<T>::Type;
  constexpr int kPieces = kWidth / PieceOf<T>::kLanes, kRows = 16 / kPieces;
  static_assert(kWidth % kRows == 0 && kWidth % PieceOf<T>::kLanes == 0);
  for (int first = 0; first < kWidth; first += kRows) {
    auto* const to = reinterpret_cast<Piece*>(state + first * kWidth);
    T* const z = state + kWidth * kWidth + first;
    Piece sums[kRows][kPieces];
    T key_sums[kRows];
    for (int a = 0; a < kRows; ++a) {
      key_sums[a] = z[a];
      for (int p = 0; p < kPieces; ++p) sums[a][p] = to[a * kPieces + p];
    }
    for (std::int64_t j = 0; j < range.tokens; ++j) {
      const T mask = key_mask == nullptr ? T(1) : key_mask[j];
      if (mask == T(0)) continue;
      const T* const k_row = k + j * range.row_stride + first;
      const auto* const v_row = reinterpret_cast<const Piece*>(v + j * range.row_stride);
      T phi[kRows];
      for (int a = 0; a < kRows; ++a) {
        phi[a] = mask * Phi(k_row[a], epsilon);
        key_sums[a] += phi[a];
      }
      for (int a = 0; a < kRows; ++a) {
        for (int p = 0; p < kPieces; ++p) sums[a][p] += phi[a] * v_row[p];
      }
    }
    for (int a = 0; a < kRows; ++a) {
      z[a] = key_sums[a];
      for (int p = 0; p < kPieces; ++p) to[a * kPieces + p] = sums[a][p];
    }
  }
}

template <int kWidth, typename T>
void AddState(const LinearRange& range, const T* k, const T* v, const T* key_mask, T epsilon,
              T* __restrict phi, T* __restrict state) {
  if constexpr (kWidth > 0) {
    return AddStateInRegisters<kWidth>(range, k, v, key_mask, epsilon, state);
  }
  const int width = kWidth > 0 ? kWidth : range.width;
  for (std::int64_t j = 0; j < range.tokens; ++j) {
    const T mask = key_mask == nullptr ? T(1) : key_mask[j];
    if (mask == T(0)) continue;
    const T* k_row = k + j * range.row_stride;
    const T* v_row = v + j * range.row_stride;
    for (int a = 0; a < width; ++a) phi[a] = mask * Phi(k_row[a], epsilon);
    AddOuter<kWidth>(phi, v_row, width, state);
    AddScaled(T(1), phi, width, state + width * width);
  }
}

template <int kWidth, typename T>
void ApplyState(const LinearRange& range, const T* q, const T* __restrict state, T epsilon, T delta,
                T* __restrict phi, T* __restrict out, T* __restrict normalizer) {
  const int width = kWidth > 0 ? kWidth : range.width;
  const T* z = state + width * width;
  for (std::int64_t i = 0; i < range.tokens; ++i) {
    const T* q_row = q + i * range.row_stride;
    T* o = out + i * range.row_stride;
    T sum = delta;
    for (int a = 0; a < width; ++a) {
      phi[a] = Phi(q_row[a], epsilon);
      sum += phi[a] * z[a];
    }
    const T scale = sum == T(0) ? T(0) : T(1) / sum;
    for (int b = 0; b < width; ++b) o[b] = T(0);
    SumOfRows(phi, state, width, o);
    for (int b = 0; b < width; ++b) o[b] *= scale;
    normalizer[i * range.heads] = sum;
  }
}

/// Backward pass of a query. With a_i = g_i / den_i and b_i = -(g_i . out_i) / den_i:
///   d phi(q_i) = S a_i + b_i z,   dS += phi(q_i) a_i^T,   dz += b_i phi(q_i).
template <int kWidth, typename T>
void QueryBackward(const LinearRange& range, const T* q, const T* out, const T* normalizer,
                   const T* grad_out, const T* __restrict state, T epsilon, T* __restrict scratch,
                   T* __restrict grad_q, T* __restrict grad_state) {
  const int width = kWidth > 0 ? kWidth : range.width;
  T* const phi = scratch;
  T* const a_row = scratch + width;
  T* const transposed = scratch + 2 * width;
  Transpose(state, width, transposed);
  const T* z = state + width * width;
  for (std::int64_t i = 0; i < range.tokens; ++i) {
    const T* q_row = q + i * range.row_stride;
    const T* o = out + i * range.row_stride;
    const T* g = grad_out + i * range.row_stride;
    const T den = normalizer[i * range.heads];
    const T inverse = den == T(0) ? T(0) : T(1) / den;
    T b = T(0);
    for (int c = 0; c < width; ++c) {
      phi[c] = Phi(q_row[c], epsilon);
      a_row[c] = inverse * g[c];
      b -= a_row[c] * o[c];
    }
    T* dq = grad_q + i * range.row_stride;
    for (int a = 0; a < width; ++a) dq[a] = b * z[a];
    SumOfRows(a_row, transposed, width, dq);
    for (int a = 0; a < width; ++a) dq[a] = q_row[a] > T(0) ? dq[a] : T(0);
    AddOuter<kWidth>(phi, a_row, width, grad_state);
    AddScaled(b, phi, width, grad_state + width * width);
  }
}

/// Backward pass of a key: d phi(k_j) = m_j (dS v_j + dz),   dv_j = m_j dS^T phi(k_j).
template <int kWidth, typename T>
void KeyBackward(const LinearRange& range, const T* k, const T* v, const T* key_mask,
                 const T* __restrict grad_state, T epsilon, T* __restrict scratch,
                 T* __restrict grad_k, T* __restrict grad_v) {
  const int width = kWidth > 0 ? kWidth : range.width;
  T* const phi = scratch;
  T* const transposed = scratch + 2 * width;
  Transpose(grad_state, width, transposed);
  const T* dz = grad_state + width * width;
  for (std::int64_t j = 0; j < range.tokens; ++j) {
    const T mask = key_mask == nullptr ? T(1) : key_mask[j];
    const T* k_row = k + j * range.row_stride;
    const T* v_row = v + j * range.row_stride;
    T* dk = grad_k + j * range.row_stride;
    T* dv = grad_v + j * range.row_stride;
    for (int a = 0; a < width; ++a) {
      phi[a] = mask * Phi(k_row[a], epsilon);
      dk[a] = dz[a];
      dv[a] = T(0);
    }
    SumOfRows(phi, grad_state, width, dv);
    SumOfRows(v_row, transposed, width, dk);
    for (int a = 0; a < width; ++a) dk[a] = k_row[a] > T(0) ? mask * dk[a] : T(0);
  }
}

}  // namespace

/// Calls function<kWidth>(...) with the width of the range as a constant where it is a usual one.
#define INTERLACER_BY_WIDTH(function, ...) \
  switch (range.width) {                   \
    case 16:                               \
      return function<16>(__VA_ARGS__);    \
    case 32:                               \
      return function<32>(__VA_ARGS__);    \
    default:                               \
      return function<0>(__VA_ARGS__);     \
  }

template <typename T>
void LinearAddState(const LinearRange& range, const T* k, const T* v, const T* key_mask, T epsilon,
                    T* scratch, T* state) {
  INTERLACER_BY_WIDTH(AddState, range, k, v, key_mask, epsilon, scratch, state)
}

template <typename T>
void LinearApplyState(const LinearRange& range, const T* q, const T* state, T epsilon, T delta,
                      T* scratch, T* out, T* normalizer) {
  INTERLACER_BY_WIDTH(ApplyState, range, q, state, epsilon, delta, scratch, out, normalizer)
}

template <typename T>
void LinearQueryBackward(const LinearRange& range, const T* q, const T* out, const T* normalizer,
                         const T* grad_out, const T* state, T epsilon, T* scratch, T* grad_q,
                         T* grad_state) {
  INTERLACER_BY_WIDTH(QueryBackward, range, q, out, normalizer, grad_out, state, epsilon, scratch,
                      grad_q, grad_state)
}

template <typename T>
void LinearKeyBackward(const LinearRange& range, const T* k, const T* v, const T* key_mask,
                       const T* grad_state, T epsilon, T* scratch, T* grad_k,
                       T* grad_v){INTERLACER_BY_WIDTH(KeyBackward, range, k, v, key_mask,
                                                      grad_state, epsilon, scratch, grad_k, grad_v)}

#undef INTERLACER_BY_WIDTH

#define INTERLACER_INSTANTIATE(T)                                                                  \
  template void LinearAddState<T>(const LinearRange&, const T*, const T*, const T*, T, T*, T*);    \
  template void LinearApplyState<T>(const LinearRange&, const T*, const T*, T, T, T*, T*, T*);     \
  template void LinearQueryBackward<T>(const LinearRange&, const T*, const T*, const T*, const T*, \
                                       const T*, T, T*, T*, T*);                                   \
  template void LinearKeyBackward<T>(const LinearRange&, const T*, const T*, const T*, const T*,   \
                                     T, T*, T*, T*);
INTERLACER_INSTANTIATE(float) INTERLACER_INSTANTIATE(double)
#undef INTERLACER_INSTANTIATE

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
