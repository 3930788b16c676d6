// GCC 12's own AVX-512 headers hand an undefined vector to unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "common/kernels/walk_entry.h"
#include "model/kernels/fused_attention_rows.h"
#include "model/kernels/fused_tile_avx512bf16.h"

namespace interlacer::avx512bf16 {
namespace {

constexpr int kPairsAtOnce = 4;
constexpr int kPairLanes = 2 * kLanes;  // bfloat16 numbers in a register

inline __m512 Phi(__m512 x, __m512 epsilon) {
  return _mm512_add_ps(_mm512_max_ps(x, _mm512_setzero_ps()), epsilon);
}

inline __m512bh LoadPairs(const std::uint16_t* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}

/// Adds up the lanes of each of four vectors; lane p of the result is the sum of vector p.
inline __m128 SumLanes(const __m512 (&sums)[kPairsAtOnce]) {
  __m256 half[kPairsAtOnce];
  for (int p = 0; p < kPairsAtOnce; ++p) {
    half[p] = _mm256_add_ps(_mm512_castps512_ps256(sums[p]), _mm512_extractf32x8_ps(sums[p], 1));
  }
  const __m256 pairs =
      _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
  return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

/// The pairs of one row: addresses of phi(k) | v and weights, padded with pairs of weight zero to a
/// multiple of kPairsAtOnce.
struct RowPairs {
  int count = 0;
  const std::uint16_t* rows[kMaxFusedPairs];
  alignas(16) float weights[kMaxFusedPairs];
};

inline void FindPairs(const GrfBfloat16& grf, std::int64_t i, RowPairs& found) {
  const std::int64_t stride = grf.key_width + grf.value_width;
  int count = 0;
  for (std::int32_t e = grf.pairs.offsets[i]; e < grf.pairs.offsets[i + 1]; ++e, ++count) {
    const std::uint32_t entry = grf.pairs.entries[e];
    found.rows[count] = grf.keys_values + (entry & kWalkNodeMask) * stride;
    found.weights[count] = grf.pairs.table[entry >> kWalkCodeShift];
  }
  for (; count % kPairsAtOnce != 0; ++count) {
    found.rows[count] = found.rows[0];
    found.weights[count] = 0;
  }
  found.count = count;
}

/// Multiplies each weight by phi(q) . phi(k) and returns their sum.
inline float Score(const std::uint16_t* phi_q, int key_width, RowPairs& pairs) {
  __m128 total = _mm_setzero_ps();
  for (int first = 0; first < pairs.count; first += kPairsAtOnce) {
    __m512 sums[kPairsAtOnce];
    for (int p = 0; p < kPairsAtOnce; ++p) sums[p] = _mm512_setzero_ps();
    for (int c = 0; c < key_width; c += kPairLanes) {
      const __m512bh q = LoadPairs(phi_q + c);
      for (int p = 0; p < kPairsAtOnce; ++p) {
        sums[p] = _mm512_dpbf16_ps(sums[p], q, LoadPairs(pairs.rows[first + p] + c));
      }
    }
    const __m128 weighted = _mm_mul_ps(SumLanes(sums), _mm_load_ps(pairs.weights + first));
    _mm_store_ps(pairs.weights + first, weighted);
    total = _mm_add_ps(total, weighted);
  }
  total = _mm_add_ps(total, _mm_movehl_ps(total, total));
  return _mm_cvtss_f32(_mm_add_ss(total, _mm_movehdup_ps(total)));
}

/// Writes 64 columns: out = bfloat16(scale * sum over pairs of weight * v), where v starts at
/// column `at`.
inline void SumValues(const RowPairs& pairs, int at, float scale, std::uint16_t* out) {
  __m512 sums[kVectors];
  for (int c = 0; c < kVectors; ++c) sums[c] = _mm512_setzero_ps();
  for (int p = 0; p < pairs.count; ++p) {
    const __m512 weight = _mm512_set1_ps(pairs.weights[p]);
    const std::uint16_t* v = pairs.rows[p] + at;
    for (int c = 0; c < kVectors; ++c) {
      sums[c] = _mm512_fmadd_ps(weight, LoadBfloat16(v + kLanes * c), sums[c]);
    }
  }
  const __m512 scales = _mm512_set1_ps(scale);
  for (int c = 0; c < kVectors; ++c) {
    StoreBfloat16(out + kLanes * c, _mm512_mul_ps(sums[c], scales));
  }
}

}  // namespace

/// Bound: reads of the queries from the cache, 4 bytes a number and pass; phi is taken again in the
/// second pass, which costs two operations, rather than stored.
/// Sizes: whole registers of a head, so that its denominator is one sum over lanes.
void LinearQueryRows(int rows, int heads, int head_width, const float* q, const float* z,
                     const LinearAttentionEpsilons& epsilons, std::uint16_t* to) {
  const int width = heads * head_width;
  const __m512 epsilon = _mm512_set1_ps(static_cast<float>(epsilons.feature));
  for (int r = 0; r < rows; ++r) {
    for (int head = 0; head < heads; ++head) {
      const std::int64_t at = static_cast<std::int64_t>(r) * width + head * head_width;
      __m512 products = _mm512_setzero_ps();
      for (int c = 0; c < head_width; c += kLanes) {
        products = _mm512_fmadd_ps(Phi(_mm512_loadu_ps(q + at + c), epsilon),
                                   _mm512_loadu_ps(z + head * head_width + c), products);
      }
      const float sum = static_cast<float>(epsilons.normalizer) + _mm512_reduce_add_ps(products);
      const __m512 scale = _mm512_set1_ps(sum == 0.0F ? 0.0F : 1.0F / sum);
      for (int c = 0; c < head_width; c += kLanes) {
        StoreBfloat16(to + at + c, _mm512_mul_ps(Phi(_mm512_loadu_ps(q + at + c), epsilon), scale));
      }
    }
  }
  ZeroRows(rows, width, to);
}

/// Bound, sizes: those of the product (fused_tile_avx512bf16.h); 2 bytes a number are written.
/// Layout: at a stride, so that keys and values of a token can lie side by side.
void DenseToBfloat16Rows(int rows, const std::uint16_t* a, const PackedDense& dense,
                         std::int64_t stride, std::uint16_t* to) {
  Multiply(rows, a, dense, [&](int row, int column, __m512 sum) {
    StoreBfloat16(to + row * stride + column, sum);
  });
}

/// As DenseToBfloat16Rows; phi is two operations on sums that are at hand.
void DensePhiRows(int rows, const std::uint16_t* a, const PackedDense& dense, float epsilon,
                  std::int64_t stride, std::uint16_t* to) {
  const __m512 epsilons = _mm512_set1_ps(epsilon);
  Multiply(rows, a, dense, [&](int row, int column, __m512 sum) {
    StoreBfloat16(to + row * stride + column, Phi(sum, epsilons));
  });
}

/// Bound: gathers of the rows of phi(k) | v; a spatial order of the tokens keeps most of them in
/// the cache. A token's keys and values lie side by side, so one address serves both passes.
void GrfRows(const GrfBfloat16& grf, std::int64_t first, int rows, const std::uint16_t* phi_q,
             std::uint16_t* out) {
  RowPairs pairs;
  for (int r = 0; r < rows; ++r) {
    FindPairs(grf, first + r, pairs);
    const float sum = grf.normalizer + Score(phi_q + static_cast<std::int64_t>(r) * grf.key_width,
                                             grf.key_width, pairs);
    const float scale = sum == 0.0F ? 0.0F : 1.0F / sum;
    for (int c = 0; c < grf.value_width; c += kFusedPanelColumns) {
      SumValues(pairs, grf.key_width + c, scale,
                out + static_cast<std::int64_t>(r) * grf.value_width + c);
    }
  }
  ZeroRows(rows, grf.value_width, out);
}

}  // namespace interlacer::avx512bf16
