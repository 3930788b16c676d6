#pragma once

/// What fused dense layers (model/kernels/fused_dense.h) and their loops over rows read: a layer's
/// packed weights and a norm's parameters. Value types.

#include <cstdint>
#include <vector>

namespace interlacer {

/// Widths of fused layers must be multiples of this.
inline constexpr int kFusedLanes = 16;

/// The weights of a layer, packed in the kernel's order. `bias` points to the caller's memory.
struct PackedDense {
  int in_width = 0;
  int out_width = 0;
  std::vector<std::uint16_t> weight;
  const float* bias = nullptr;
};

struct RowNorm {
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5F;
};

}  // namespace interlacer
