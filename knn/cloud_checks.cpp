#include "knn/cloud_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace interlacer {
namespace {

/// Has no branch per value, so that the compiler vectorises the loop.
bool AllFinite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t bad = 0;
  for (const float value : values) {
    bad |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

StatusOr<std::int64_t> CheckCloud(std::span<const float> positions_m, int k) {
  if (k < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "k", "at least 1", std::to_string(k));
  }
  if (positions_m.size() % 3 != 0) {
    return Mismatch(reason::SHAPE_MISMATCH, "positions_m", "a multiple of 3 values",
                    std::to_string(positions_m.size()));
  }
  const std::int64_t n = static_cast<std::int64_t>(positions_m.size() / 3);
  if (n > kMaxCloudPoints) {
    return OutOfRange(reason::ARGUMENT_INVALID, "positions_m: expected at most " +
                                                    std::to_string(kMaxCloudPoints) +
                                                    " points, got " + std::to_string(n));
  }
  if (AllFinite(positions_m)) return n;
  const auto bad = std::find_if(positions_m.begin(), positions_m.end(),
                                [](float c) { return !std::isfinite(c); });
  return Mismatch(reason::NOT_FINITE,
                  "positions_m[" + std::to_string((bad - positions_m.begin()) / 3) + "]",
                  "finite coordinates", std::to_string(*bad));
}

}  // namespace interlacer
