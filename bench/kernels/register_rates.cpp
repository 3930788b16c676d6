#include "bench/kernels/register_rates.h"

#include "common/kernels/cpu_features.h"

namespace interlacer::bench {

std::vector<RegisterRate> RegisterRates() {
  std::vector<RegisterRate> rates;
  const CpuFeatures& host = HostCpuFeatures();
  if (host.avx2) rates.push_back({"f32_fma_avx2", &RunFmaAvx2});
  if (host.avx512) rates.push_back({"f32_fma_avx512", &RunFmaAvx512});
  if (host.avx512_bf16) rates.push_back({"bf16_dot_avx512", &RunBf16DotAvx512});
  if (host.amx_bf16) rates.push_back({"bf16_tiles_amx", &RunBf16TilesAmx});
  return rates;
}

float ReadAgainAndAgain(const float* data, std::size_t count, int passes) {
  constexpr int kLanes = 64;
  float sums[kLanes] = {};
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i + kLanes <= count; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] += data[i + lane];
    }
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace interlacer::bench
