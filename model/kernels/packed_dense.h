#pragma once

/// What fused dense layers (model/kernels/fused_dense.h) and their loops over rows read: a layer's
/// packed weights, the form of its product and a norm's parameters. Value types.

#include <cstdint>
#include <vector>

namespace interlacer {

/// Widths of fused layers must be multiples of this.
inline constexpr int kFusedLanes = 16;

/// How the product of a block of rows and a panel of kFusedPanelColumns columns is taken:
///   sums [rows,kFusedPanelColumns] = bias + a [rows,inputs] * panel,
/// a panel holding its columns side by side, pairs of inputs together. Forms differ in the order of
/// their sums.
struct DenseForm {
  const char* name;
  int rows;             ///< of a block; divides kFusedChunkRows
  int inputs_multiple;  ///< of this must be the inputs
  void (*begin)();      ///< before products of a thread, or null
  void (*multiply)(const std::uint16_t* a, int inputs, const std::uint16_t* panel,
                   const float* bias, float* sums);
  void (*end)();  ///< after them, or null
};

/// The weights of a layer, packed in the kernel's order. `bias` points to the caller's memory.
struct PackedDense {
  int in_width = 0;
  int out_width = 0;
  std::vector<std::uint16_t> weight;
  const float* bias = nullptr;
  const DenseForm* form = nullptr;
};

struct RowNorm {
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5F;
};

}  // namespace interlacer
