#include <immintrin.h>

#include "bench/kernels/register_rates.h"

namespace interlacer::bench {
namespace {

constexpr int kChains = 16, kLanes = 16;

double Sink(const __m512 (&sums)[kChains], double flops) {
  volatile float sink = 0;
  for (const __m512& sum : sums) sink = sink + _mm512_cvtss_f32(sum);
  return flops;
}

}  // namespace

double RunFmaAvx512(std::int64_t iterations) {
  __m512 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(static_cast<float>(c));
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  return Sink(sums, 2.0 * kChains * kLanes * static_cast<double>(iterations));
}

double RunBf16DotAvx512(std::int64_t iterations) {
  __m512 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(static_cast<float>(c));
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f));
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, a, a);
  }
  return Sink(sums, 4.0 * kChains * kLanes * static_cast<double>(iterations));
}

}  // namespace interlacer::bench
