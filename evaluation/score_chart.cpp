#include "evaluation/score_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluation/subjects.h"

namespace interlacer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::size_t StyleOf(std::string_view subject) {
  return static_cast<std::size_t>(std::find(kSubjects.begin(), kSubjects.end(), subject) -
                                  kSubjects.begin());
}

void AddPoint(double x, const MeanEstimate* mean, ChartSeries* series) {
  series->x.push_back(x);
  series->y.push_back(mean != nullptr ? mean->mean : kNan);
  const bool has_interval = mean != nullptr && mean->interval;
  series->low.push_back(has_interval ? mean->interval->low : kNan);
  series->high.push_back(has_interval ? mean->interval->high : kNan);
}

bool HasValues(const ChartSeries& series) {
  return std::any_of(series.y.begin(), series.y.end(), [](double y) { return std::isfinite(y); });
}

std::string FigureHtml(const std::string& svg) { return "<figure>" + svg + "</figure>"; }

std::string ChartsHtml(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"charts\">" + figures + "</div>";
}

}  // namespace interlacer
