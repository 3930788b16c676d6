#include "model/layers/precision.h"

#include "common/kernels/cpu_features.h"

namespace interlacer {

Precision ResolvePrecision(DenseDtype dtype, DeviceKind device) {
  const bool native = device == DeviceKind::kCuda || HostCpuFeatures().avx512_bf16;
  const bool bfloat16 = dtype == DenseDtype::kBfloat16 || (dtype == DenseDtype::kAuto && native);
  return bfloat16 ? Precision::kBfloat16 : Precision::kNative;
}

}  // namespace interlacer
