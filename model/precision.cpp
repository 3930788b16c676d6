#include "model/precision.h"

#include <string>

#include "model/kernels/instruction_set.h"

namespace interlacer {

Precision ResolvePrecision(DenseDtype dtype, DeviceKind device) {
  const bool native = device == DeviceKind::kCuda || MultipliesBfloat16();
  const bool bfloat16 = dtype == DenseDtype::kBfloat16 || (dtype == DenseDtype::kAuto && native);
  return bfloat16 ? Precision::kBfloat16 : Precision::kNative;
}

StatusOr<DenseDtype> ParseDenseDtype(std::string_view text) {
  if (text == "auto") return DenseDtype::kAuto;
  if (text == "fp32") return DenseDtype::kFloat32;
  if (text == "bf16") return DenseDtype::kBfloat16;
  return Mismatch(reason::CONFIG_INVALID, "dense_dtype", "auto, fp32 or bf16", std::string(text));
}

}  // namespace interlacer
