#include "data/sim/tool_path.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/transforms.h"

namespace interlacer::sim {
namespace {

constexpr double kMaxYawPerStepRad = 0.7;

double Mix(double a, double b, double share) { return a + share * (b - a); }

}  // namespace

void ToolPath::MoveTo(const ToolTarget& goal, double speed_m) {
  const Vec3d& a = end_.position_m;
  const Vec3d& b = goal.position_m;
  const double length_m = DistanceM(b, a);
  const double turn_rad = std::abs(goal.yaw_rad - end_.yaw_rad);
  const int count = std::max({1, static_cast<int>(std::ceil(length_m / speed_m)),
                              static_cast<int>(std::ceil(turn_rad / kMaxYawPerStepRad))});
  for (int i = 1; i <= count; ++i) {
    const double share = static_cast<double>(i) / count;
    steps_.push_back({{Mix(a[0], b[0], share), Mix(a[1], b[1], share), Mix(a[2], b[2], share)},
                      Mix(end_.yaw_rad, goal.yaw_rad, share),
                      Mix(end_.opening_m, goal.opening_m, share)});
  }
  end_ = goal;
}

void ToolPath::Restart(const ToolTarget& at) {
  steps_.clear();
  end_ = at;
}

ToolTarget ToolPath::Pop() {
  INTERLACER_CHECK(!steps_.empty(), "Pop of a finished tool path");
  const ToolTarget next = steps_.front();
  steps_.pop_front();
  return next;
}

}  // namespace interlacer::sim
