#include "data/view_overlap.h"

#include <cmath>

#include "common/transforms.h"

namespace interlacer {

bool ViewsOverlap(const Camera& a, const Camera& b, double far_m, const OverlapLimits& limits) {
  const Transform a_from_b = Compose(Inverse(a.world_from_camera), b.world_from_camera);
  const Matrix4d m = ToMatrix(a_from_b);
  const double cosine = m[10];  // b's axis along a's
  const double baseline_m = std::hypot(m[3], m[7], m[11]);
  return cosine >= std::cos(limits.max_angle_rad) &&
         baseline_m <= limits.max_baseline_ratio * far_m;
}

}  // namespace interlacer
