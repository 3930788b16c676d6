#include "bench/kernels/register_rates.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace interlacer::bench {
namespace {

/// Requests AMX tiles, which the operating system grants on request only.
bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return __builtin_cpu_supports("amx-bf16") &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

std::vector<RegisterRate> RegisterRates() {
  std::vector<RegisterRate> rates;
  if (__builtin_cpu_supports("fma")) rates.push_back({"f32_fma_avx2", &RunFmaAvx2});
  if (__builtin_cpu_supports("avx512f")) rates.push_back({"f32_fma_avx512", &RunFmaAvx512});
  if (__builtin_cpu_supports("avx512bf16")) rates.push_back({"bf16_dot_avx512", &RunBf16DotAvx512});
  if (MayUseTiles()) rates.push_back({"bf16_tiles_amx", &RunBf16TilesAmx});
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
