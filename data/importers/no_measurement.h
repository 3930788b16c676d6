#pragma once

/// Depth integers that mean "no measurement" though they are not 0.
///
/// 65535, the largest integer, is never a distance: cameras and converters write it where nothing
/// was measured or the range ended. Others depend on the source (2047 of the first Kinect, 4095,
/// 32001, 10000 of a clipped simulator): they are looked for and reported, and taken for no
/// measurement where the user names one. Thread-safety: value types.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/image.h"
#include "common/scene.h"

namespace interlacer {

inline constexpr std::uint16_t kSaturatedDepth = 65535;

struct DepthCodes {
  std::int64_t pixel_count = 0;
  std::int64_t saturated_count = 0;  ///< of 65535
  std::int64_t named_count = 0;      ///< of the user's value
  /// Largest integers of frames that look like a code, and how many pixels have them.
  std::map<std::uint16_t, std::int64_t> suspects;

  void Add(const DepthCodes& other);
};

/// Makes 65535 and `no_depth_value` 0 in the image.
DepthCodes RemoveNoMeasurement(std::optional<std::uint16_t> no_depth_value, DepthImage16* depth);

/// DEPTH_NO_MEASUREMENT_VALUE for what was removed, DEPTH_CODE_SUSPECT for a code in a hundredth of
/// the pixels.
std::vector<Finding> DescribeCodes(const DepthCodes& codes, double unit_m);

}  // namespace interlacer
