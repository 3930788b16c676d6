#include "client/planner/cost_terms.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
/// More do not make a shape clearer.
constexpr std::size_t kMaxCloudPoints = 4096;

Vec3d PointAt(const PredictedStep& step, std::size_t particle) {
  const float* p = step.positions_m.data() + 3 * particle;
  return {p[0], p[1], p[2]};
}

/// Particles that lie in the region at the first step.
std::vector<std::size_t> Pick(std::span<const PredictedStep> steps, const Region& region) {
  std::vector<std::size_t> picked;
  if (steps.empty()) return picked;
  for (std::size_t i = 0; i < steps.front().positions_m.size() / 3; ++i) {
    const float* p = steps.front().positions_m.data() + 3 * i;
    if (!region || Contains(*region, {p[0], p[1], p[2]})) picked.push_back(i);
  }
  return picked;
}

/// A term that is the mean of a value of each picked particle.
template <typename Value>
CostTerm MeanTerm(std::string name, const Region& region, Value value) {
  const auto mean = [region, value](std::span<const PredictedStep> steps, const PlanRows&) {
    double sum = 0;
    const std::vector<std::size_t> picked = Pick(steps, region);
    for (const std::size_t i : picked) sum += value(steps, i);
    return picked.empty() ? kNothing : sum / static_cast<double>(picked.size());
  };
  return {std::move(name), mean, 1, {}, region};
}

double DistanceToBoxM(const Vec3d& point_m, const Box& box) {
  Vec3d nearest{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    nearest[axis] = std::clamp(point_m[axis], box.min_m[axis], box.max_m[axis]);
  }
  return DistanceM(point_m, nearest);
}

double MeanNearestM(std::span<const Vec3d> from_m, std::span<const Vec3d> to_m) {
  double sum_m = 0;
  for (const Vec3d& a : from_m) {
    double least_m = std::numeric_limits<double>::infinity();
    for (const Vec3d& b : to_m) least_m = std::min(least_m, DistanceM(a, b));
    sum_m += least_m;
  }
  return sum_m / static_cast<double>(from_m.size());
}

}  // namespace

CostTerm ObjectToPoint(const Region& region, const Vec3d& target_m) {
  const auto value = [region, target_m](std::span<const PredictedStep> steps, const PlanRows&) {
    const std::vector<std::size_t> picked = Pick(steps, region);
    if (picked.empty()) return kNothing;
    Vec3d mean_m{};
    for (const std::size_t i : picked) {
      const Vec3d p = PointAt(steps.back(), i);
      for (std::size_t axis = 0; axis < 3; ++axis) mean_m[axis] += p[axis];
    }
    for (double& x : mean_m) x /= static_cast<double>(picked.size());
    return DistanceM(mean_m, target_m);
  };
  return {"object_to_point", value, 1, {}, region};
}

CostTerm ObjectToBox(const Region& region, const Box& box) {
  return MeanTerm("object_to_box", region,
                  [box](std::span<const PredictedStep> steps, std::size_t i) {
                    return DistanceToBoxM(PointAt(steps.back(), i), box);
                  });
}

CostTerm GoalCloud(const Region& region, std::vector<float> goal_m) {
  std::vector<Vec3d> goal;
  for (std::size_t i = 0; i + 2 < goal_m.size(); i += 3) {
    goal.push_back({goal_m[i], goal_m[i + 1], goal_m[i + 2]});
  }
  const auto value = [region, goal = std::move(goal)](std::span<const PredictedStep> steps,
                                                      const PlanRows&) {
    const std::vector<std::size_t> picked = Pick(steps, region);
    if (picked.empty() || goal.empty()) return kNothing;
    const std::size_t stride = (picked.size() + kMaxCloudPoints - 1) / kMaxCloudPoints;
    std::vector<Vec3d> points;
    for (std::size_t k = 0; k < picked.size(); k += stride) {
      points.push_back(PointAt(steps.back(), picked[k]));
    }
    return (MeanNearestM(points, goal) + MeanNearestM(goal, points)) / 2;
  };
  return {"goal_cloud", value, 1, {}, region};
}

CostTerm KeepStill(const Region& region) {
  return MeanTerm("keep_still", region, [](std::span<const PredictedStep> steps, std::size_t i) {
    return DistanceM(PointAt(steps.back(), i), PointAt(steps.front(), i));
  });
}

CostTerm KeepOut(const Region& region, const Box& box) {
  return MeanTerm("keep_out", region, [box](std::span<const PredictedStep> steps, std::size_t i) {
    return std::any_of(steps.begin(), steps.end(), [&](const PredictedStep& step) {
      return DistanceToBoxM(PointAt(step, i), box) == 0;
    });
  });
}

CostTerm Uncertainty(const Region& region) {
  return MeanTerm(kUncertaintyTerm, region,
                  [](std::span<const PredictedStep> steps, std::size_t i) -> double {
                    const std::vector<float>& spread_m = steps.back().spread_m;
                    return i < spread_m.size() ? spread_m[i] : kNothing;
                  });
}

CostTerm SmoothAction() {
  const auto value = [](std::span<const PredictedStep>, const PlanRows& rows) {
    if (rows.row_count < 3) return 0.0;
    double sum = 0;
    for (int r = 2; r < rows.row_count; ++r) {
      for (int c = 0; c < rows.column_count; ++c) {
        const std::size_t at = static_cast<std::size_t>(c);
        const double second = rows.Row(r)[at] - 2 * rows.Row(r - 1)[at] + rows.Row(r - 2)[at];
        sum += second * second;
      }
    }
    return sum / ((rows.row_count - 2) * rows.column_count);
  };
  return {"smooth_action", value};
}

CostTerm SmallAction() {
  const auto value = [](std::span<const PredictedStep>, const PlanRows& rows) {
    double sum = 0;
    for (int r = 0; r < rows.row_count; ++r) {
      for (int c = 0; c < rows.column_count; ++c) {
        const std::size_t at = static_cast<std::size_t>(c);
        const double offset = rows.Row(r)[at] - rows.Row(0)[at];
        sum += offset * offset;
      }
    }
    return sum / static_cast<double>(rows.values.size());
  };
  return {"small_action", value};
}

}  // namespace interlacer
