#include "knn/cloud_checks.h"

#include <cmath>
#include <string>

namespace interlacer {

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
  for (std::size_t c = 0; c < positions_m.size(); ++c) {
    if (!std::isfinite(positions_m[c])) {
      return Mismatch(reason::NOT_FINITE, "positions_m[" + std::to_string(c / 3) + "]",
                      "finite coordinates", std::to_string(positions_m[c]));
    }
  }
  return n;
}

}  // namespace interlacer
