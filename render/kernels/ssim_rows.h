#pragma once

/// Kernel: rows of the SSIM map of two 8-bit RGB images (render/image_metrics.h has the formula).
///
/// Window sums are separable: every image row is filtered along x once and kept in a ring of as
/// many rows as the window has, which is filtered along y. All in double. Raw pointers, allocates
/// nothing.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

inline constexpr int kSsimTaps = 11;

struct SsimInputs {
  const std::uint8_t* image = nullptr;  ///< [height,width,3]
  const std::uint8_t* truth = nullptr;
  int width_px = 0;
  double taps[kSsimTaps] = {};  ///< of one direction, sum 1
  double c1 = 0;
  double c2 = 0;
};

/// Numbers of scratch memory that a call needs.
inline constexpr std::int64_t SsimScratchCount(int width_px) {
  return std::int64_t{4} * 3 * width_px * (kSsimTaps + 2);
}

/// Writes map rows [row_begin,row_end), each of width_px - 10 values, to `map`, which begins at
/// row_begin; map row y depends on image rows y to y + 10.
using SsimRowsFn = void (*)(const SsimInputs& inputs, int row_begin, int row_end, double* scratch,
                            double* map);

INTERLACER_FOR_INSTRUCTION_SETS(void SsimRows(const SsimInputs& inputs, int row_begin, int row_end,
                                              double* scratch, double* map);)

}  // namespace interlacer
