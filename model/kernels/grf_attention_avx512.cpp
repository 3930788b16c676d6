// GCC 12's own AVX-512 headers hand an undefined vector to unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include <cstdint>

#include "model/kernels/grf_attention_group.h"

namespace interlacer::avx512 {
namespace {

constexpr int kFloatLanes = 16;

/// Adds up the lanes of each of four vectors in the order of SumLanes: halves added to halves.
inline __m128 SumLanesOfFour(const __m512 (&lanes)[kGroupPairs]) {
  __m128 quarter[kGroupPairs];
  for (int p = 0; p < kGroupPairs; ++p) {
    const __m256 half =
        _mm256_add_ps(_mm512_castps512_ps256(lanes[p]), _mm512_extractf32x8_ps(lanes[p], 1));
    quarter[p] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  _MM_TRANSPOSE4_PS(quarter[0], quarter[1], quarter[2], quarter[3]);
  return _mm_add_ps(_mm_add_ps(quarter[0], quarter[2]), _mm_add_ps(quarter[1], quarter[3]));
}

template <typename T>
void AttendGroup(const GrfGroup<T>& group, const T* phi_q, int dq, int dv, T epsilon, T* sum, T* o);

/// Computes the four scores of a group side by side, with the sums and the order of the general
/// form.
inline void AttendGroup(const GrfGroup<float>& group, const float* phi_q, int dq, int dv,
                        float epsilon, float* sum, float* o) {
  if (dq % kFloatLanes != 0 || dv % kFloatLanes != 0) {
    return AttendGroup<float>(group, phi_q, dq, dv, epsilon, sum, o);
  }
  const float* k[kGroupPairs];
  for (int p = 0; p < kGroupPairs; ++p) k[p] = group.k[p < group.count ? p : 0];
  const __m512 zero = _mm512_setzero_ps();
  const __m512 epsilons = _mm512_set1_ps(epsilon);
  __m512 lanes[kGroupPairs] = {zero, zero, zero, zero};
  for (int c = 0; c < dq; c += kFloatLanes) {
    const __m512 q = _mm512_loadu_ps(phi_q + c);
    for (int p = 0; p < kGroupPairs; ++p) {
      const __m512 phi = _mm512_add_ps(_mm512_max_ps(_mm512_loadu_ps(k[p] + c), zero), epsilons);
      lanes[p] = _mm512_add_ps(lanes[p], _mm512_mul_ps(q, phi));
    }
  }
  float scores[kGroupPairs];
  _mm_storeu_ps(scores, SumLanesOfFour(lanes));
  __m512 weights[kGroupPairs];
  for (int p = 0; p < group.count; ++p) {
    const float ws = group.weight[p] * scores[p];
    *sum += ws;
    weights[p] = _mm512_set1_ps(ws);
  }
  for (int c = 0; c < dv; c += kFloatLanes) {
    __m512 row = _mm512_loadu_ps(o + c);
    for (int p = 0; p < group.count; ++p) {
      row = _mm512_add_ps(row, _mm512_mul_ps(weights[p], _mm512_loadu_ps(group.v[p] + c)));
    }
    _mm512_storeu_ps(o + c, row);
  }
}

/// Streaming stores: the row is not read again here, and its memory need not be fetched first.
inline void WriteScaled(float scale, const float* x, int width, float* y) {
  const __m512 scales = _mm512_set1_ps(scale);
  constexpr std::uintptr_t kCacheLine = 64;
  if (reinterpret_cast<std::uintptr_t>(y) % kCacheLine == 0 && width % kFloatLanes == 0) {
    for (int c = 0; c < width; c += kFloatLanes) {
      _mm512_stream_ps(y + c, _mm512_mul_ps(scales, _mm512_loadu_ps(x + c)));
    }
    return;
  }
  for (int c = 0; c < width; ++c) y[c] = scale * x[c];
}

/// Streaming stores need a fence before other threads are told that the rows are complete.
inline void FinishWrites(const float*) { _mm_sfence(); }

}  // namespace
}  // namespace interlacer::avx512

#define INTERLACER_KERNEL_NAMESPACE avx512
#include "model/kernels/grf_attention_body.h"
