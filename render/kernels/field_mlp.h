#pragma once

/// Kernel: the small dense layers of the radiance field over blocks of samples.
///
/// Every stride is a multiple of 16 and padding lanes hold zeros, which the kernels preserve. A row
/// of the result never depends on the other rows or on the row's place in the block.
/// Raw pointers, allocates nothing.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

/// y = x w + bias, optionally ReLU.
///   x [m, x_stride]   w [x_width, y_stride]   bias [y_stride] or null   y [m, y_stride]
/// With `mask` [m, y_stride] the result is set to zero where mask is not above zero: the ReLU's
/// backward form.
struct DenseLayer {
  std::int64_t m = 0;
  int x_width = 0;
  int x_stride = 0;
  int y_stride = 0;
  const float* x = nullptr;
  const float* w = nullptr;
  const float* bias = nullptr;
  bool relu = false;
  const float* mask = nullptr;
  float* y = nullptr;
};

/// w_grad [y_width, x_stride] += y_grad^T x and bias_grad [y_width] += column sums, in row order.
///   x [m, x_stride]   y_grad [m, y_stride]
struct DenseWeightGradient {
  std::int64_t m = 0;
  int x_stride = 0;
  int y_width = 0;
  int y_stride = 0;
  const float* x = nullptr;
  const float* y_grad = nullptr;
  float* w_grad = nullptr;
  float* bias_grad = nullptr;
};

using DenseForwardFn = void (*)(const DenseLayer& layer);
using DenseWeightGradientFn = void (*)(const DenseWeightGradient& gradient);

INTERLACER_FOR_INSTRUCTION_SETS(void DenseForward(const DenseLayer& layer);
                                void DenseWeightGradientSum(const DenseWeightGradient& gradient);)

}  // namespace interlacer
