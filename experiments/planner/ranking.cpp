#include "experiments/planner/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "common/check.h"

namespace interlacer {
namespace {

/// 1, 2, ... by value; equal values share the mean of their ranks.
std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = (static_cast<double>(begin + end) + 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

double Horizontal(double x_m, double y_m) { return std::hypot(x_m, y_m); }

/// One number for each motion.
template <typename Measure>
std::vector<double> Each(const std::vector<MotionOutcome>& motions, Measure measure) {
  std::vector<double> values;
  for (const MotionOutcome& motion : motions) values.push_back(measure(motion));
  return values;
}

/// From the goal, at the object's height, to the nearest tool.
double ToolDistance(const MotionOutcome& motion, double x_m, double y_m) {
  double least_m = std::numeric_limits<double>::infinity();
  for (const Vec3d& tool_m : motion.tools_m) {
    least_m = std::min(least_m, std::hypot(tool_m[0] - x_m, tool_m[1] - y_m, tool_m[2]));
  }
  return least_m;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> SpearmanCorrelation(std::span<const double> a, std::span<const double> b) {
  INTERLACER_CHECK(a.size() == b.size(), "SpearmanCorrelation: lists of different lengths");
  if (a.size() < 2) return std::nullopt;
  const std::vector<double> rank_a = Ranks(a), rank_b = Ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (rank_a[i] - mean) * (rank_b[i] - mean);
    aa += (rank_a[i] - mean) * (rank_a[i] - mean);
    bb += (rank_b[i] - mean) * (rank_b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

SceneRanking RankMotions(std::string scene, std::vector<MotionOutcome> motions) {
  SceneRanking ranking;
  ranking.scene = std::move(scene);
  ranking.travel_correlation = SpearmanCorrelation(
      Each(motions, [](const auto& m) { return Horizontal(m.predicted_m[0], m.predicted_m[1]); }),
      Each(motions, [](const auto& m) { return Horizontal(m.true_m[0], m.true_m[1]); }));
  ranking.mean_error_m = MeanOf(Each(motions, [](const auto& m) {
    return Horizontal(m.predicted_m[0] - m.true_m[0], m.predicted_m[1] - m.true_m[1]);
  }));

  const bool has_tools =
      std::none_of(motions.begin(), motions.end(), [](const auto& m) { return m.tools_m.empty(); });
  if (has_tools) ranking.tool_chosen_m = 0;
  std::vector<double> correlations, tool_correlations;
  for (int goal = 0; goal < kGoalCount; ++goal) {
    const double angle_rad = 2 * std::numbers::pi * goal / kGoalCount;
    const double x_m = kGoalDistanceM * std::cos(angle_rad);
    const double y_m = kGoalDistanceM * std::sin(angle_rad);
    const std::vector<double> predicted_m = Each(motions, [&](const auto& m) {
      return Horizontal(m.predicted_m[0] - x_m, m.predicted_m[1] - y_m);
    });
    const std::vector<double> true_m = Each(
        motions, [&](const auto& m) { return Horizontal(m.true_m[0] - x_m, m.true_m[1] - y_m); });
    if (const auto rho = SpearmanCorrelation(predicted_m, true_m)) correlations.push_back(*rho);
    const auto choice = std::min_element(predicted_m.begin(), predicted_m.end());
    ranking.chosen_m += true_m[static_cast<std::size_t>(choice - predicted_m.begin())] / kGoalCount;
    if (has_tools) {
      const std::vector<double> tool_m =
          Each(motions, [&](const auto& m) { return ToolDistance(m, x_m, y_m); });
      if (const auto rho = SpearmanCorrelation(tool_m, true_m)) tool_correlations.push_back(*rho);
      const auto nearest = std::min_element(tool_m.begin(), tool_m.end()) - tool_m.begin();
      *ranking.tool_chosen_m += true_m[static_cast<std::size_t>(nearest)] / kGoalCount;
    }
    ranking.best_m += *std::min_element(true_m.begin(), true_m.end()) / kGoalCount;
    ranking.guessed_m += MeanOf(true_m) / kGoalCount;
  }
  if (!correlations.empty()) ranking.goal_correlation = MeanOf(correlations);
  if (!tool_correlations.empty()) ranking.tool_goal_correlation = MeanOf(tool_correlations);
  ranking.motions = std::move(motions);
  return ranking;
}

}  // namespace interlacer
