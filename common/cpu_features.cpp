#include "common/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace interlacer {
namespace {

CpuFeatures Detect() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kOsSavesState = 1u << 27;              // leaf 1, ecx: XGETBV usable
  constexpr unsigned kAmxBits = (1u << 22) | (1u << 24);    // leaf 7, edx: bf16 and tiles
  constexpr unsigned kTileState = (1u << 17) | (1u << 18);  // XCR0: tile registers saved
  const bool os_saves = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & kOsSavesState) != 0;
  if (os_saves && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & kAmxBits) == kAmxBits) {
    unsigned xcr0_low = 0, xcr0_high = 0;
    __asm__("xgetbv" : "=a"(xcr0_low), "=d"(xcr0_high) : "c"(0));
    features.amx_bf16 = (xcr0_low & kTileState) == kTileState;
  }
#endif
  return features;
}

}  // namespace

const CpuFeatures& HostCpuFeatures() {
  static const CpuFeatures features = Detect();
  return features;
}

}  // namespace interlacer
