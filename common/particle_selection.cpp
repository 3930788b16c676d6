#include "common/particle_selection.h"

#include <algorithm>

#include "common/transforms.h"

namespace interlacer {

std::vector<std::uint32_t> SelectParticles(std::int64_t count, const float* positions_m,
                                           const OutputOptions& output) {
  std::vector<std::uint32_t> selected;
  const std::int64_t stride = std::max(1, output.stride);
  std::int64_t rank = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (output.initial_region) {
      const float* p = positions_m + 3 * i;
      if (!Contains(*output.initial_region, {p[0], p[1], p[2]})) continue;
    }
    if (rank++ % stride == 0) selected.push_back(static_cast<std::uint32_t>(i));
  }
  return selected;
}

}  // namespace interlacer
