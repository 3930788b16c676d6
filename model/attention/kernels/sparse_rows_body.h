/// Body of sparse_rows.h; the including file sets INTERLACER_KERNEL_NAMESPACE and is compiled for
/// one instruction set. No include guard on purpose; rules as model/kernels/grf_attention_body.h.
///
/// Bound: gathers of rows, which an order in space keeps in the cache. Sums of a row stay in
/// registers, explicitly: left to itself the compiler takes columns of several entries together.

#include "model/attention/kernels/sparse_rows.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr std::int64_t kRegisterBytes = 32;
#else
constexpr std::int64_t kRegisterBytes = 16;
#endif

/// A register of columns, at any place: larger vectors would live in memory.
template <typename T>
struct PieceOf {
  typedef T Type __attribute__((vector_size(kRegisterBytes), aligned(alignof(T)), may_alias));
  static constexpr std::int64_t kLanes = kRegisterBytes / sizeof(T);
};

template <typename T>
using Piece = typename PieceOf<T>::Type;

template <typename T>
inline const Piece<T>* PiecesAt(const T* row) {
  return reinterpret_cast<const Piece<T>*>(row);
}

/// The columns [column, column + kPieces * lanes) of one row of a product.
template <int kPieces, typename T>
inline void MultiplyPieces(const attention::SparseRows& rows, const T* weights, const T* x,
                           std::int64_t width, std::int64_t i, std::int64_t column, T* out) {
  Piece<T> sums[kPieces] = {};
  for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
    const T weight = weights[rows.entries == nullptr ? e : rows.entries[e]];
    const auto* other = PiecesAt(x + rows.indices[e] * width + column);
    for (int p = 0; p < kPieces; ++p) sums[p] += weight * other[p];
  }
  auto* to = reinterpret_cast<Piece<T>*>(out + i * width + column);
  for (int p = 0; p < kPieces; ++p) to[p] = sums[p];
}

constexpr std::int64_t kSampledLanes = 16;

}  // namespace

template <typename T>
void MultiplyRows(const attention::SparseRows& rows, const T* weights, const T* x,
                  std::int64_t width, std::int64_t begin, std::int64_t end, T* out) {
  constexpr std::int64_t kLanes = PieceOf<T>::kLanes;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t column = 0;
    for (; column + 8 * kLanes <= width; column += 8 * kLanes) {
      MultiplyPieces<8>(rows, weights, x, width, i, column, out);
    }
    for (; column + kLanes <= width; column += kLanes) {
      MultiplyPieces<1>(rows, weights, x, width, i, column, out);
    }
    if (column == width) continue;
    T* __restrict row = out + i * width;
    for (std::int64_t c = column; c < width; ++c) row[c] = 0;
    for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
      const T weight = weights[rows.entries == nullptr ? e : rows.entries[e]];
      const T* __restrict other = x + rows.indices[e] * width;
      for (std::int64_t c = column; c < width; ++c) row[c] += weight * other[c];
    }
  }
}

template <typename T>
void SampleRows(const attention::SparseRows& rows, const T* a, const T* b, std::int64_t width,
                std::int64_t begin, std::int64_t end, T* out) {
  constexpr std::int64_t kLanes = PieceOf<T>::kLanes;
  constexpr int kPieces = kSampledLanes / kLanes;
  for (std::int64_t i = begin; i < end; ++i) {
    const T* row = a + i * width;
    for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
      const T* other = b + rows.indices[e] * width;
      Piece<T> sums[kPieces] = {};
      std::int64_t c = 0;
      for (; c + kSampledLanes <= width; c += kSampledLanes) {
        for (int p = 0; p < kPieces; ++p) {
          sums[p] += PiecesAt(row + c)[p] * PiecesAt(other + c)[p];
        }
      }
      T rest = 0;
      for (; c < width; ++c) rest += row[c] * other[c];
      T lanes[kSampledLanes];
      for (int p = 0; p < kPieces; ++p) reinterpret_cast<Piece<T>*>(lanes)[p] = sums[p];
      for (std::int64_t half = kSampledLanes / 2; half > 0; half /= 2) {
        for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
      }
      out[e] = rest + lanes[0];
    }
  }
}

void AddPolynomialTerm(const attention::SparseRows& rows, const double* weights,
                       const double* diagonal, std::int64_t count, double factor, double c,
                       const double* x, const double* now, const double* before, double* next) {
  constexpr std::int64_t kColumns = attention::kPolynomialColumns;
  constexpr int kPieces = kColumns / PieceOf<double>::kLanes;
  for (std::int64_t i = 0; i < count; ++i) {
    Piece<double> sums[kPieces];
    for (int p = 0; p < kPieces; ++p) sums[p] = diagonal[i] * PiecesAt(now + i * kColumns)[p];
    for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
      const auto* other = PiecesAt(now + rows.indices[e] * kColumns);
      for (int p = 0; p < kPieces; ++p) sums[p] += weights[e] * other[p];
    }
    auto* to = reinterpret_cast<Piece<double>*>(next + i * kColumns);
    for (int p = 0; p < kPieces; ++p) {
      Piece<double> sum = factor * sums[p] + c * PiecesAt(x + i * kColumns)[p];
      if (before != nullptr) sum -= PiecesAt(before + i * kColumns)[p];
      to[p] = sum;
    }
  }
}

#define INTERLACER_INSTANTIATE(T)                                                               \
  template void MultiplyRows<T>(const attention::SparseRows&, const T*, const T*, std::int64_t, \
                                std::int64_t, std::int64_t, T*);                                \
  template void SampleRows<T>(const attention::SparseRows&, const T*, const T*, std::int64_t,   \
                              std::int64_t, std::int64_t, T*);
INTERLACER_INSTANTIATE(float)
INTERLACER_INSTANTIATE(double)
#undef INTERLACER_INSTANTIATE

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
