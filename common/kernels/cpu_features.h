#pragma once

/// Instruction sets that the processor and the operating system support, queried once: which of the
/// compiled kernel bodies may run. Thread-safe. Linux grants the tiles of AMX on request only, to a
/// process for all its threads; the first query asks.
///
/// For files that choose among bodies. Never included by a body itself: the linker keeps one copy
/// of this function, which must not be the one compiled for AVX-512.

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace interlacer {

struct CpuFeatures {
  bool avx2 = false;         ///< AVX2 and FMA
  bool avx512 = false;       ///< AVX-512 F, BW, DQ and VL
  bool avx512_bf16 = false;  ///< products of bfloat16 pairs summed in float32
  bool amx_bf16 = false;     ///< the same for whole tiles, beside AVX-512 BF16
};

inline const CpuFeatures& HostCpuFeatures() {
  static const CpuFeatures features = [] {
    CpuFeatures host;
#if defined(__x86_64__)
    __builtin_cpu_init();
    host.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    host.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    host.avx512_bf16 = __builtin_cpu_supports("avx512bf16");
#if defined(__linux__)
    // By its bits: Clang 14 has no name for it.
    constexpr unsigned kLeaf = 7, kBf16Bit = 1U << 22, kTileBit = 1U << 24;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    unsigned a = 0, b = 0, c = 0, d = 0;
    host.amx_bf16 = host.avx512_bf16 && __get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) != 0 &&
                    (d & kBf16Bit) != 0 && (d & kTileBit) != 0 &&
                    syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#endif
#endif
    return host;
  }();
  return features;
}

/// The fastest form of a kernel that the host runs. All of them must do the same.
template <typename T>
T FormOfHost(T portable, T avx2, T avx512) {
  if (HostCpuFeatures().avx512) return avx512;
  return HostCpuFeatures().avx2 ? avx2 : portable;
}

/// FormOfHost of a function that common/kernels/instruction_sets.h declared.
#define INTERLACER_FORM_OF_HOST(...) \
  ::interlacer::FormOfHost(&cpu::__VA_ARGS__, &avx2::__VA_ARGS__, &avx512::__VA_ARGS__)

}  // namespace interlacer
