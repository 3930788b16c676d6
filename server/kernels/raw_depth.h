#pragma once

/// Kernels that convert raw depth samples to metres and count those around the plausible median, in
/// one pass over the bytes.
///
///   samples   [count] little-endian uint16 or float32, at any address
///   depth_m   [count] float32; NaN where a sample is no measurement
/// Samples are compared as unsigned integers, which preserves the order of positive floats. All
/// instruction sets give equal bits. Raw pointers, allocates nothing, thread-safe.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

/// Sample values, as integers: 1 to `last_measured` are measurements; `first_plausible` to
/// `last_plausible` of them are plausible medians.
struct RawDepthRange {
  std::uint32_t first_plausible = 1;
  std::uint32_t last_plausible = 0;
  std::uint32_t last_measured = 0;
};

/// Counts of samples; calls add to them.
struct RawDepthTally {
  std::int64_t measured = 0;
  std::int64_t too_near = 0;
  std::int64_t too_far = 0;
};

INTERLACER_FOR_INSTRUCTION_SETS(void RawDepthUnits(const std::uint8_t* samples, std::int64_t count,
                                                   double unit_m, const RawDepthRange& range,
                                                   float* depth_m, RawDepthTally* tally);
                                void RawDepthFloats(const std::uint8_t* samples, std::int64_t count,
                                                    const RawDepthRange& range, float* depth_m,
                                                    RawDepthTally* tally);)

}  // namespace interlacer
