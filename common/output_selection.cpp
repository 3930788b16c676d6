#include "common/output_selection.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "common/number_text.h"
#include "common/transforms.h"

namespace interlacer {

StatusOr<std::vector<int>> SelectSteps(std::span<const int> asked, bool has_robot,
                                       std::int64_t row_count, std::int64_t max_step) {
  if (asked.empty()) {
    if (row_count <= 0) {
      return Mismatch(reason::STEP_INVALID, "steps", "steps, because there are no action rows",
                      "none");
    }
    std::vector<int> all(static_cast<std::size_t>(row_count));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  int previous = -1;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string field = Indexed("steps", static_cast<int>(i)), got = std::to_string(asked[i]);
    if (asked[i] <= previous) {
      return Mismatch(reason::STEP_INVALID, field, "ascending steps from 0", got);
    }
    if (asked[i] > max_step) {
      const std::string limit = std::to_string(max_step);
      return OutOfRange(reason::LIMIT_STEPS, "step: " + got + " is above the limit of " + limit)
          .WithField(field)
          .WithMetadata("got", got)
          .WithMetadata("limit", limit);
    }
    if (has_robot && row_count >= 0 && asked[i] > row_count) {
      return Mismatch(reason::STEP_INVALID, field,
                      "at most " + std::to_string(row_count) + ", one step an action row", got);
    }
    previous = asked[i];
  }
  return std::vector<int>(asked.begin(), asked.end());
}

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

bool ShowSameView(const RenderTarget& a, const RenderTarget& b) {
  return a.camera == b.camera && (a.camera || a.scene_camera_name == b.scene_camera_name);
}

}  // namespace interlacer
