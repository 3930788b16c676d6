#include <immintrin.h>

#include "bench/kernels/register_rates.h"

namespace interlacer::bench {

double RunFmaAvx2(std::int64_t iterations) {
  constexpr int kChains = 12, kLanes = 8;
  __m256 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm256_set1_ps(static_cast<float>(c));
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  volatile float sink = 0;
  for (const __m256& sum : sums) sink = sink + _mm256_cvtss_f32(sum);
  return 2.0 * kChains * kLanes * static_cast<double>(iterations);
}

}  // namespace interlacer::bench
