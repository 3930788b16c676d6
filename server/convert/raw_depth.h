#pragma once

/// Converts raw depth samples to metres and checks whether their median is plausible, in one pass.
///
///   uint16   metres = sample x unit, rounded once from float64; 0 is no measurement
///   float32  metres as they come; NaN, infinite and non-positive ones are no measurement
/// Missing measurements become NaN, values outside of float32 infinite. Equal samples give equal
/// bits on every processor. Thread-safe: a value.

#include <cstdint>

#include "server/kernels/raw_depth.h"

namespace interlacer {

/// A median outside this range means a wrong unit; both ends are included.
struct PlausibleDepth {
  double min_m = 0;
  double max_m = 0;
};

class RawDepthDecoder {
 public:
  static RawDepthDecoder Uint16(double unit_m, const PlausibleDepth& plausible);
  static RawDepthDecoder Float32(const PlausibleDepth& plausible);

  /// Decodes `count` samples at any address and counts them.
  void Decode(const std::uint8_t* samples, std::int64_t count, float* depth_m);
  /// Median of all samples so far; of an even number the upper one. True without a measurement.
  bool IsMedianPlausible() const;

 private:
  bool is_float_ = false;
  double unit_m_ = 0;
  RawDepthRange range_;
  RawDepthTally tally_;
};

}  // namespace interlacer
