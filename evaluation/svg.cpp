#include "evaluation/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "evaluation/html.h"
#include "evaluation/svg_parts.h"

namespace interlacer {
namespace {

constexpr std::array<std::string_view, svg::kColorCount> kDashes{
    "", "7 4", "2 3", "10 3 2 3", "4 2", "1 2", "12 4", "8 2 2 2 2 2", "3 5", "6 2 1 2"};

/// Four marker shapes, so that series differ without colour.
std::string Marker(double x, double y, std::size_t index) {
  const std::string fill = "\" fill=\"" + svg::Color(index) + "\"/>";
  const double r = 3.4;
  switch (index % 4) {
    case 1:
      return "<rect x=\"" + svg::Number(x - r + .4) + "\" y=\"" + svg::Number(y - r + .4) +
             "\" width=\"" + svg::Number(2 * r - .8) + "\" height=\"" + svg::Number(2 * r - .8) +
             fill;
    case 2:
      return "<path d=\"M" + svg::Number(x) + " " + svg::Number(y - r - .8) + "l" +
             svg::Number(r + .6) + " " + svg::Number(2 * r) + "h" + svg::Number(-2 * r - 1.2) +
             "z" + fill;
    case 3:
      return "<path d=\"M" + svg::Number(x) + " " + svg::Number(y - r - 1) + "l" +
             svg::Number(r + 1) + " " + svg::Number(r + 1) + "l" + svg::Number(-r - 1) + " " +
             svg::Number(r + 1) + "l" + svg::Number(-r - 1) + " " + svg::Number(-r - 1) + "z" +
             fill;
    default:
      return "<circle cx=\"" + svg::Number(x) + "\" cy=\"" + svg::Number(y) + "\" r=\"" +
             svg::Number(r) + fill;
  }
}

constexpr double kTickGap = 8;

/// Where a plot begins, so that its ticks' labels stand beside the name of the axis.
double LeftOf(const std::vector<svg::Tick>& y_ticks) {
  constexpr double kAxisNameWidth = 24, kLeast = 58;
  double left = kLeast;
  for (const svg::Tick& tick : y_ticks) {
    left = std::max(left, kAxisNameWidth + svg::WidthOf(tick.label) + kTickGap);
  }
  return left;
}

std::string Axes(const svg::Plot& plot, const std::vector<svg::Tick>& y_ticks,
                 const ChartSpec& spec) {
  std::string out;
  for (const auto& [value, label] : y_ticks) {
    out += svg::Line(plot.left, plot.Y(value), plot.right, plot.Y(value), "stroke=\"var(--grid)\"");
    out += svg::Text(plot.left - kTickGap, plot.Y(value) + 4,
                     "text-anchor=\"end\" fill=\"var(--soft)\"", label);
  }
  const auto name_x = [&](double x, const std::string& name) {
    out +=
        svg::Text(plot.X(x), plot.bottom + 18, "text-anchor=\"middle\" fill=\"var(--soft)\"", name);
  };
  const int whole_steps = static_cast<int>(plot.x.high - plot.x.low);
  for (std::size_t i = 0; i < spec.x_names.size(); ++i) {
    name_x(static_cast<double>(i), spec.x_names[i]);
  }
  for (const double tick :
       svg::NiceTicks(plot.x.low, plot.x.high, std::clamp(whole_steps + 1, 1, 9))) {
    if (spec.x_names.empty()) name_x(tick, svg::TickLabel(tick, 1));
  }
  out += svg::Line(plot.left, plot.bottom, plot.right, plot.bottom, "stroke=\"var(--line)\"");
  out += svg::Text((plot.left + plot.right) / 2, plot.bottom + 38,
                   "text-anchor=\"middle\" fill=\"var(--soft)\"", spec.x_label);
  out += "<text transform=\"translate(13 " + svg::Number((plot.top + plot.bottom) / 2) +
         ") rotate(-90)\" text-anchor=\"middle\" fill=\"var(--soft)\">" + EscapeHtml(spec.y_label) +
         "</text>";
  if (spec.reference_y) {
    out += svg::Line(plot.left, plot.Y(*spec.reference_y), plot.right, plot.Y(*spec.reference_y),
                     "stroke=\"var(--soft)\" stroke-dasharray=\"3 3\"");
  }
  if (spec.marker_x && *spec.marker_x >= plot.x.low && *spec.marker_x <= plot.x.high) {
    out += svg::Line(plot.X(*spec.marker_x), plot.top, plot.X(*spec.marker_x), plot.bottom,
                     "stroke=\"var(--soft)\" stroke-dasharray=\"1 3\"");
    const bool is_at_right = plot.X(*spec.marker_x) > (plot.left + 2 * plot.right) / 3;
    out += svg::Text(plot.X(*spec.marker_x) + (is_at_right ? -5 : 5), plot.top + 11,
                     is_at_right ? "fill=\"var(--soft)\" font-size=\"11\" text-anchor=\"end\""
                                 : "fill=\"var(--soft)\" font-size=\"11\"",
                     spec.marker_label);
  }
  return out;
}

/// The band as one polygon for each run of finite points.
std::string Band(const svg::Plot& plot, const ChartSeries& series) {
  std::string out;
  std::string upper, lower;
  const auto flush = [&] {
    if (!upper.empty()) {
      out += "<polygon points=\"" + upper + lower + "\" fill=\"" + svg::Color(series.style) +
             "\" fill-opacity=\"0.14\"/>";
    }
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < series.low.size(); ++i) {
    if (!std::isfinite(series.low[i]) || !std::isfinite(series.high[i])) {
      flush();
      continue;
    }
    const std::string x = svg::Number(plot.X(series.x[i]));
    upper += x + "," + svg::Number(plot.Y(series.high[i])) + " ";
    lower.insert(0, x + "," + svg::Number(plot.Y(series.low[i])) + " ");
  }
  flush();
  return out;
}

std::string Curve(const svg::Plot& plot, const ChartSeries& series, bool has_line) {
  std::string path, markers;
  bool pen_is_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) {
      pen_is_down = false;
      continue;
    }
    const double x = plot.X(series.x[i]), y = plot.Y(series.y[i]);
    path += (pen_is_down ? "L" : "M") + svg::Number(x) + " " + svg::Number(y);
    markers += Marker(x, y, series.style);
    pen_is_down = true;
  }
  if (path.empty() || !has_line) return markers;
  std::string out = "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + svg::Color(series.style) +
                    "\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-dasharray=\"";
  return out.append(kDashes[series.style % kDashes.size()]).append("\"/>") + markers;
}

/// Entries side by side, wrapped; returns the markup and moves `y` below the last row.
std::string Legend(const std::vector<ChartSeries>& all_series, bool has_lines, double width,
                   double* y) {
  constexpr double kTextX = 32, kGap = 14;
  std::string out;
  double x = 0;
  for (const ChartSeries& series : all_series) {
    if (series.name.empty()) continue;
    const double entry_width = kTextX + std::min(svg::WidthOf(series.name), width - kTextX) + kGap;
    if (x > 0 && x + entry_width > width) {
      x = 0;
      *y += 18;
    }
    std::string stroke =
        "stroke-width=\"2\" stroke=\"" + svg::Color(series.style) + "\" stroke-dasharray=\"";
    stroke.append(kDashes[series.style % kDashes.size()]).append("\"");
    if (has_lines) out += svg::Line(x, *y - 4, x + 26, *y - 4, stroke);
    out += Marker(x + 13, *y - 4, series.style) +
           svg::FittedText(x + kTextX, *y, "", series.name, width - kTextX);
    x += entry_width;
  }
  *y += 10;
  return out;
}

}  // namespace

std::string LineChartSvg(const ChartSpec& spec) {
  constexpr double kWidth = 620, kPlotHeight = 250;
  svg::Range x, y;
  for (const ChartSeries& series : spec.series) {
    x.Add(series.x);
    y.Add(series.y);
    y.Add(series.low);
    y.Add(series.high);
  }
  if (spec.reference_y) y.Add(*spec.reference_y);
  double legend_bottom = 38;
  const std::string legend = Legend(spec.series, spec.x_names.empty(), kWidth, &legend_bottom);
  const svg::Range x_range = spec.x_names.empty()
                                 ? svg::Padded(x, 0.02)
                                 : svg::Range{-0.5, static_cast<double>(spec.x_names.size()) - 0.5};
  svg::Range y_range = svg::Padded(y, 0.06);
  // Of what is never negative no axis goes below 0.
  if (y.low >= 0) y_range.low = std::max(y_range.low, 0.0);
  const std::vector<svg::Tick> y_ticks = svg::TicksOf(y_range, 5);
  const svg::Plot plot{LeftOf(y_ticks), legend_bottom, kWidth - 10, legend_bottom + kPlotHeight,
                       x_range,         y_range};
  std::string out = svg::Header(kWidth, plot.bottom + 46, spec.alt_text, spec.title) + legend;
  if (y.IsEmpty()) {
    return out +
           svg::Text(kWidth / 2, legend_bottom + kPlotHeight / 2, "text-anchor=\"middle\"",
                     "no values") +
           "</svg>\n";
  }
  out += Axes(plot, y_ticks, spec);
  for (std::size_t i = 0; i < spec.series.size(); ++i) out += Band(plot, spec.series[i]);
  for (std::size_t i = spec.series.size(); i-- > 0;) {
    out += Curve(plot, spec.series[i], spec.x_names.empty());
  }
  return out + "</svg>\n";
}

std::string DistributionSvg(const DistributionSpec& spec) {
  constexpr double kWidth = 620, kRowHeight = 34, kTop = 34;
  constexpr double kMostLeft = 260, kNameGap = 10, kMargin = 6;
  svg::Range range;
  double name_width = 0;
  for (const DistributionGroup& group : spec.groups) {
    range.Add(group.values);
    name_width = std::max(name_width, svg::WidthOf(group.name));
  }
  if (spec.reference_value) range.Add(*spec.reference_value);
  const double left = std::min(kMostLeft, kMargin + name_width + kNameGap);
  const double bottom = kTop + kRowHeight * static_cast<double>(spec.groups.size());
  const svg::Plot plot{left, kTop, kWidth - 10, bottom, svg::Padded(range, 0.04), {0, 1}};
  std::string out = svg::Header(kWidth, bottom + 46, spec.alt_text, spec.title);
  for (const auto& [value, label] : svg::TicksOf(plot.x, 6)) {
    out += svg::Line(plot.X(value), kTop, plot.X(value), bottom, "stroke=\"var(--grid)\"");
    out +=
        svg::Text(plot.X(value), bottom + 18, "text-anchor=\"middle\" fill=\"var(--soft)\"", label);
  }
  out += svg::Text((plot.left + plot.right) / 2, bottom + 38,
                   "text-anchor=\"middle\" fill=\"var(--soft)\"", spec.value_label);
  if (spec.reference_value) {
    out += svg::Line(plot.X(*spec.reference_value), kTop, plot.X(*spec.reference_value), bottom,
                     "stroke=\"var(--soft)\" stroke-dasharray=\"3 3\"");
  }
  for (std::size_t row = 0; row < spec.groups.size(); ++row) {
    const DistributionGroup& group = spec.groups[row];
    const double y = kTop + kRowHeight * (static_cast<double>(row) + 0.5);
    const std::string fill = svg::Color(group.style.value_or(row));
    out += svg::FittedText(plot.left - kNameGap, y + 4, "text-anchor=\"end\"", group.name,
                           plot.left - kNameGap);
    double sum = 0;
    for (const double value : group.values) {
      sum += value;
      out += "<circle cx=\"" + svg::Number(plot.X(value)) + "\" cy=\"" + svg::Number(y) +
             "\" r=\"4\" fill-opacity=\"0.55\" fill=\"" + fill + "\"/>";
    }
    if (group.values.empty()) continue;
    const double mean_x = plot.X(sum / static_cast<double>(group.values.size()));
    out +=
        svg::Line(mean_x, y - 11, mean_x, y + 11, "stroke-width=\"2.5\" stroke=\"currentColor\"");
  }
  return out + "</svg>\n";
}

}  // namespace interlacer
