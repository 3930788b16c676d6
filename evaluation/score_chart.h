#pragma once

/// Turns estimates into chart series, and charts into parts of a page. Pure functions, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

#include "evaluation/statistics.h"
#include "evaluation/svg.h"

namespace interlacer {

/// Colour, dash and marker of a subject (evaluation/subjects.h), the same on every page.
std::size_t StyleOf(std::string_view subject);

/// One point with its interval; a gap where `mean` is null or has none.
void AddPoint(double x, const MeanEstimate* mean, ChartSeries* series);
/// False for a series of gaps.
bool HasValues(const ChartSeries& series);
/// One chart, and a row of such figures (empty without any).
std::string FigureHtml(const std::string& svg);
std::string ChartsHtml(const std::string& figures);

}  // namespace interlacer
