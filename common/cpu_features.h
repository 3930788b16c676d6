#pragma once

/// What the processor and the operating system offer, asked once. Thread-safe.

namespace interlacer {

struct CpuFeatures {
  bool avx2 = false;      ///< AVX2 and FMA
  bool avx512 = false;    ///< AVX-512 F, BW, DQ and VL
  bool amx_bf16 = false;  ///< AMX tiles with bfloat16 products
};

const CpuFeatures& HostCpuFeatures();

}  // namespace interlacer
