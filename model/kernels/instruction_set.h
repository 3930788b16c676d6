#pragma once

/// Which of the compiled kernel bodies the processor can run. Thread-safe.

namespace interlacer {

enum class InstructionSet { kGeneric, kAvx2, kAvx512 };

inline InstructionSet BestInstructionSet() {
  static const InstructionSet best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return InstructionSet::kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      return InstructionSet::kAvx2;
    }
    return InstructionSet::kGeneric;
  }();
  return best;
}

/// Products of bfloat16 pairs summed in float32 (AVX-512 BF16).
inline bool MultipliesBfloat16() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has;
#else
  return false;
#endif
}

}  // namespace interlacer
