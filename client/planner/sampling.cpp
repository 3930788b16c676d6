#include "client/planner/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/random.h"

namespace interlacer {
namespace {

constexpr double kEliteShare = 0.125;
/// One has no deviation.
constexpr std::size_t kLeastElite = 2;
constexpr double kSmoothing = 0.1;
/// Of the candidates, in MPPI's weights.
constexpr double kLeastEffectiveShare = 0.1;

/// Value at `t` of the straight lines through (times[i], values[i]); constant outside.
double Interpolate(double t, std::span<const double> times, std::span<const double> values) {
  if (t <= times.front()) return values.front();
  if (t >= times.back()) return values.back();
  const auto above =
      static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
  const double slope = (values[above] - values[above - 1]) / (times[above] - times[above - 1]);
  return slope * (t - times[above - 1]) + values[above - 1];
}

std::vector<double> ColumnOf(const PlanRows& rows, std::size_t column) {
  std::vector<double> values;
  for (int r = 0; r < rows.row_count; ++r) values.push_back(rows.Row(r)[column]);
  return values;
}

PlanRows WithValues(const PlanRows& like, double value) {
  return {like.row_count, like.column_count, std::vector<double>(like.values.size(), value)};
}

/// exp(-(score - least) / temperature), normalised; the temperature rises until enough count.
std::vector<double> MppiWeights(std::span<const double> scores) {
  const double least = *std::min_element(scores.begin(), scores.end());
  double gap_sum = 0;
  int finite_count = 0;
  for (const double score : scores) {
    if (!std::isfinite(score)) continue;
    gap_sum += score - least;
    ++finite_count;
  }
  double temperature = std::max(gap_sum / finite_count * 0.1, 1e-12);
  const double wanted =
      std::min(kLeastEffectiveShare * static_cast<double>(scores.size()), finite_count * 0.99);
  while (true) {
    std::vector<double> weights;
    for (const double score : scores) weights.push_back(std::exp(-(score - least) / temperature));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    double squares = 0;
    for (double& weight : weights) {
      weight /= sum;
      squares += weight * weight;
    }
    if (1 / squares >= wanted) return weights;
    temperature *= 2;
  }
}

}  // namespace

PlanRows KnotPath::RowsOf(const PlanRows& knot_rows) const {
  std::vector<double> times{0};
  for (int k = 1; k <= knots; ++k) times.push_back(static_cast<double>(horizon) * k / knots);
  PlanRows rows{horizon, knot_rows.column_count,
                std::vector<double>(static_cast<std::size_t>(horizon) * knot_rows.column_count)};
  for (std::size_t c = 0; c < start.size(); ++c) {
    std::vector<double> path = ColumnOf(knot_rows, c);
    path.insert(path.begin(), start[c]);
    const double change = columns[c].max_step_change > 0 ? columns[c].max_step_change
                                                         : std::numeric_limits<double>::infinity();
    double previous = start[c];
    for (int step = 1; step <= horizon; ++step) {
      const int block_end = (step + action_block - 1) / action_block * action_block;
      const double wanted = Interpolate(std::min(block_end, horizon), times, path);
      previous = std::clamp(wanted, previous - change, previous + change);
      rows.Row(step - 1)[c] = previous;
    }
  }
  return rows;
}

PlanRows KnotPath::KnotsOf(const PlanRows& rows) const {
  std::vector<double> times;
  for (int step = 1; step <= horizon; ++step) times.push_back(step);
  PlanRows knot_rows{knots, rows.column_count,
                     std::vector<double>(static_cast<std::size_t>(knots) * rows.column_count)};
  for (std::size_t c = 0; c < start.size(); ++c) {
    const std::vector<double> values = ColumnOf(rows, c);
    for (int k = 1; k <= knots; ++k) {
      knot_rows.Row(k - 1)[c] =
          Interpolate(static_cast<double>(horizon) * k / knots, times, values);
    }
  }
  return knot_rows;
}

std::vector<PlanRows> DrawKnots(const Proposal& proposal, std::span<const ActionColumn> columns,
                                std::uint64_t seed, int iteration, int count) {
  std::vector<PlanRows> drawn(static_cast<std::size_t>(count), proposal.mean);
  for (int i = 1; i < count; ++i) {
    PlanRows& knots = drawn[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < knots.values.size(); ++k) {
      const double noise =
          NormalDraw(seed, RandomStream::kPlanner, static_cast<std::uint32_t>(iteration),
                     static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(k));
      const ActionColumn& column = columns[k % columns.size()];
      knots.values[k] = std::clamp(knots.values[k] + proposal.deviation.values[k] * noise,
                                   column.min_value, column.max_value);
    }
  }
  return drawn;
}

Proposal CemUpdate(const Proposal& proposal, std::span<const PlanRows> knots,
                   std::span<const double> scores) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < knots.size(); ++i) {
    if (std::isfinite(scores[i])) order.push_back(i);
  }
  if (order.size() < kLeastElite) return proposal;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  const auto wanted =
      static_cast<std::size_t>(std::nearbyint(kEliteShare * static_cast<double>(knots.size())));
  order.resize(std::min(order.size(), std::max(kLeastElite, wanted)));
  const auto n = static_cast<double>(order.size());
  Proposal next = proposal;
  for (std::size_t k = 0; k < proposal.mean.values.size(); ++k) {
    double sum = 0, squares = 0;
    for (const std::size_t i : order) sum += knots[i].values[k];
    const double mean = sum / n;
    for (const std::size_t i : order) squares += std::pow(knots[i].values[k] - mean, 2);
    const auto smooth = [](double before, double now) {
      return kSmoothing * before + (1 - kSmoothing) * now;
    };
    next.mean.values[k] = smooth(proposal.mean.values[k], mean);
    next.deviation.values[k] = smooth(proposal.deviation.values[k], std::sqrt(squares / n));
  }
  return next;
}

Proposal MppiUpdate(const Proposal& proposal, std::span<const PlanRows> knots,
                    std::span<const double> scores) {
  const std::vector<double> weights = MppiWeights(scores);
  Proposal next{WithValues(proposal.mean, 0), proposal.deviation};
  for (std::size_t i = 0; i < knots.size(); ++i) {
    for (std::size_t k = 0; k < next.mean.values.size(); ++k) {
      next.mean.values[k] += weights[i] * knots[i].values[k];
    }
  }
  return next;
}

}  // namespace interlacer
