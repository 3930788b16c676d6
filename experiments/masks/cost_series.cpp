#include "experiments/masks/cost_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace interlacer {
namespace {

constexpr double kMebibyte = 1024 * 1024;

double ValueOf(const CostPoint& point, CostKind kind) {
  if (kind == CostKind::kSeconds) return point.cost.cpu_seconds;
  return point.cost.peak_bytes ? static_cast<double>(*point.cost.peak_bytes) / kMebibyte
                               : std::numeric_limits<double>::quiet_NaN();
}

/// Bytes at twice the length, by how they grew last; four times as many are expected at least where
/// nothing is known.
double ExpectedBytes(const std::vector<CostPoint>& points) {
  const double last = ValueOf(points.back(), CostKind::kBytes) * kMebibyte;
  const double before =
      points.size() < 2 ? 0 : ValueOf(points[points.size() - 2], CostKind::kBytes) * kMebibyte;
  const double growth = before > 0 ? std::clamp(last / before, 2.0, 8.0) : 4;
  return std::isfinite(last) ? last * growth : 0;
}

}  // namespace

std::vector<double> CostSeries::Lengths() const {
  std::vector<double> lengths;
  for (const CostPoint& point : points) lengths.push_back(static_cast<double>(point.length));
  return lengths;
}

std::vector<double> CostSeries::Seconds() const {
  std::vector<double> seconds;
  for (const CostPoint& point : points) seconds.push_back(point.cost.cpu_seconds);
  return seconds;
}

StatusOr<CostSeries> MeasureSeries(attention::CostRequest request,
                                   const std::vector<std::int64_t>& lengths, const MaskRun& run,
                                   const AdaptRequest& adapt) {
  CostSeries series;
  request.limit_s = run.limit_s;
  for (const std::int64_t length : lengths) {
    if (!series.points.empty()) {
      const CostPoint& last = series.points.back();
      if (last.cost.cpu_seconds > run.limit_s) {
        series.end = "a run took more than " + FigureText(run.limit_s) + " s";
      } else if (ExpectedBytes(series.points) > static_cast<double>(run.most_bytes)) {
        series.end = "more than " + FigureText(static_cast<double>(run.most_bytes) / (1 << 30)) +
                     " GiB expected";
      }
      if (!series.end.empty()) break;
    }
    INTERLACER_RETURN_IF_ERROR(run.Step(request.mechanism + " " + request.way + ", " +
                                        std::to_string(length) + " tokens"));
    request.length = length;
    if (adapt) adapt(length, &request);
    const StatusOr<attention::Cost> cost = attention::MeasureCost(request);
    if (!cost.ok()) {
      series.end = cost.status().message();
      break;
    }
    series.points.push_back({length, *cost});
  }
  return series;
}

std::optional<double> Exponent(const CostSeries& series, CostKind kind, std::int64_t from,
                               double log_power) {
  std::vector<double> x, y;
  for (const CostPoint& point : series.points) {
    if (point.length < from) continue;
    const auto length = static_cast<double>(point.length);
    x.push_back(length);
    y.push_back(ValueOf(point, kind) / std::pow(std::log2(length), log_power));
  }
  return LogSlope(x, y);
}

Overtaking FindOvertaking(const CostSeries& fast, const CostSeries& dense) {
  constexpr std::size_t kLastPoints = 3;
  Overtaking overtaking;
  const std::size_t count = std::min(fast.points.size(), dense.points.size());
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_faster = fast.points[i].cost.cpu_seconds <= dense.points[i].cost.cpu_seconds;
    if (!is_faster) overtaking.length.reset();
    if (is_faster && !overtaking.length) overtaking.length = fast.points[i].length;
  }
  // Dense ends first where it takes too long or too much memory.
  if (!overtaking.length && count > 0 && fast.points.size() > count) {
    overtaking.length = fast.points[count].length;
  }
  if (count > 0) overtaking.measured_length = fast.points[count - 1].length;
  if (overtaking.length || count < kLastPoints) return overtaking;
  const CostPoint &of_fast = fast.points[count - 1], &of_dense = dense.points[count - 1];
  const auto growth = [&](const CostSeries& series) {
    return std::log2(series.points[count - 1].cost.cpu_seconds /
                     series.points[count - kLastPoints].cost.cpu_seconds);
  };
  const double closing = (growth(dense) - growth(fast)) / (kLastPoints - 1);
  if (!(closing > 0)) return overtaking;
  const double doublings =
      std::log2(of_fast.cost.cpu_seconds / of_dense.cost.cpu_seconds) / closing;
  if (doublings > kMostForeseen) return overtaking;
  overtaking.foreseen_length =
      std::ldexp(static_cast<double>(of_fast.length), static_cast<int>(std::ceil(doublings)));
  return overtaking;
}

std::optional<std::size_t> ShownStyle(const std::string& mechanism) {
  constexpr const char* kShown[] = {"softmax", "linear_relu", "toeplitz_nd", "tree_any",
                                    "gdk",     "grf_sym",     "rwgnk",       "flt_gauss3d"};
  const auto* shown = std::find(std::begin(kShown), std::end(kShown), mechanism);
  if (shown == std::end(kShown)) return std::nullopt;
  return static_cast<std::size_t>(shown - std::begin(kShown));
}

std::vector<std::int64_t> Doublings(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = first; length <= last; length *= 2) lengths.push_back(length);
  return lengths;
}

ChartSeries LogSeries(const std::string& name, const CostSeries& series, CostKind kind,
                      std::size_t style) {
  ChartSeries line{name, {}, {}, {}, {}, style};
  for (const CostPoint& point : series.points) {
    line.x.push_back(std::log2(static_cast<double>(point.length)));
    line.y.push_back(std::log10(ValueOf(point, kind)));
  }
  return line;
}

}  // namespace interlacer
