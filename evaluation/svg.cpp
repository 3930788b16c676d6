#include "evaluation/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "evaluation/html.h"

namespace interlacer {
namespace {

constexpr int kColorCount = 9;
constexpr std::array<std::string_view, kColorCount> kDashes{
    "", "7 4", "2 3", "10 3 2 3", "4 2", "1 2", "12 4", "8 2 2 2 2 2", "3 5"};

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

/// Tick label with as many decimals as the step needs.
std::string TickLabel(double value, double step) {
  const int decimals =
      step >= 1 ? 0 : std::min(6, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < step * 1e-6 ? 0.0 : value);
  return text;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void Add(const std::vector<double>& values) {
    for (const double v : values) Add(v);
  }
  bool IsEmpty() const { return low > high; }
};

/// Whether there is room for ticks: between nearer ends lie only few doubles, and steps from one
/// tick to the next would not advance.
bool HasSpan(double low, double high) {
  constexpr double kLeastShare = 1e-12;
  const double span = high - low;
  return span > kLeastShare * std::max(std::abs(low), std::abs(high)) && std::isfinite(span);
}

/// Room around the data; a single value gets a unit of its own size.
Range Padded(Range range, double share) {
  if (range.IsEmpty()) return {0, 1};
  const double pad = HasSpan(range.low, range.high) ? (range.high - range.low) * share
                                                    : std::max(1e-3, std::abs(range.high) * 0.05);
  return {range.low - pad, range.high + pad};
}

struct Plot {
  double left, top, right, bottom;  ///< in SVG units
  Range x, y;
  double X(double v) const { return left + (v - x.low) / (x.high - x.low) * (right - left); }
  double Y(double v) const { return bottom - (v - y.low) / (y.high - y.low) * (bottom - top); }
};

std::string Text(double x, double y, std::string_view attributes, std::string_view text) {
  std::string out = "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" ";
  return out.append(attributes).append(">").append(EscapeHtml(text)).append("</text>");
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  std::string out = "<line x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" + Number(x2) +
                    "\" y2=\"" + Number(y2) + "\" ";
  return out.append(attributes).append("/>");
}

std::string Color(std::size_t index) {
  return "var(--c" + std::to_string(index % kColorCount) + ")";
}

/// Four marker shapes, so that series differ without colour.
std::string Marker(double x, double y, std::size_t index) {
  const std::string fill = "\" fill=\"" + Color(index) + "\"/>";
  const double r = 3.4;
  switch (index % 4) {
    case 1:
      return "<rect x=\"" + Number(x - r + .4) + "\" y=\"" + Number(y - r + .4) + "\" width=\"" +
             Number(2 * r - .8) + "\" height=\"" + Number(2 * r - .8) + fill;
    case 2:
      return "<path d=\"M" + Number(x) + " " + Number(y - r - .8) + "l" + Number(r + .6) + " " +
             Number(2 * r) + "h" + Number(-2 * r - 1.2) + "z" + fill;
    case 3:
      return "<path d=\"M" + Number(x) + " " + Number(y - r - 1) + "l" + Number(r + 1) + " " +
             Number(r + 1) + "l" + Number(-r - 1) + " " + Number(r + 1) + "l" + Number(-r - 1) +
             " " + Number(-r - 1) + "z" + fill;
    default:
      return "<circle cx=\"" + Number(x) + "\" cy=\"" + Number(y) + "\" r=\"" + Number(r) + fill;
  }
}

std::string Header(double width, double height, const std::string& alt_text,
                   const std::string& title) {
  return "<svg viewBox=\"0 0 " + Number(width) + " " + Number(height) +
         "\" role=\"img\" aria-label=\"" + EscapeHtml(alt_text) +
         "\" font-size=\"12\" font-family=\"inherit\" fill=\"currentColor\">" +
         Text(0, 15, "font-size=\"14\" font-weight=\"600\"", title);
}

std::string Axes(const Plot& plot, const ChartSpec& spec) {
  std::string out;
  const std::vector<double> y_ticks = NiceTicks(plot.y.low, plot.y.high, 5);
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : 1;
  for (const double tick : y_ticks) {
    out += Line(plot.left, plot.Y(tick), plot.right, plot.Y(tick), "stroke=\"var(--grid)\"");
    out += Text(plot.left - 8, plot.Y(tick) + 4, "text-anchor=\"end\" fill=\"var(--soft)\"",
                TickLabel(tick, y_step));
  }
  const auto name_x = [&](double x, const std::string& name) {
    out += Text(plot.X(x), plot.bottom + 18, "text-anchor=\"middle\" fill=\"var(--soft)\"", name);
  };
  const int whole_steps = static_cast<int>(plot.x.high - plot.x.low);
  for (std::size_t i = 0; i < spec.x_names.size(); ++i) {
    name_x(static_cast<double>(i), spec.x_names[i]);
  }
  for (const double tick : NiceTicks(plot.x.low, plot.x.high, std::clamp(whole_steps + 1, 1, 9))) {
    if (spec.x_names.empty()) name_x(tick, TickLabel(tick, 1));
  }
  out += Line(plot.left, plot.bottom, plot.right, plot.bottom, "stroke=\"var(--line)\"");
  out += Text((plot.left + plot.right) / 2, plot.bottom + 38,
              "text-anchor=\"middle\" fill=\"var(--soft)\"", spec.x_label);
  out += "<text transform=\"translate(13 " + Number((plot.top + plot.bottom) / 2) +
         ") rotate(-90)\" text-anchor=\"middle\" fill=\"var(--soft)\">" + EscapeHtml(spec.y_label) +
         "</text>";
  if (spec.reference_y) {
    out += Line(plot.left, plot.Y(*spec.reference_y), plot.right, plot.Y(*spec.reference_y),
                "stroke=\"var(--soft)\" stroke-dasharray=\"3 3\"");
  }
  if (spec.marker_x && *spec.marker_x >= plot.x.low && *spec.marker_x <= plot.x.high) {
    out += Line(plot.X(*spec.marker_x), plot.top, plot.X(*spec.marker_x), plot.bottom,
                "stroke=\"var(--soft)\" stroke-dasharray=\"1 3\"");
    const bool is_at_right = plot.X(*spec.marker_x) > (plot.left + 2 * plot.right) / 3;
    out += Text(plot.X(*spec.marker_x) + (is_at_right ? -5 : 5), plot.top + 11,
                is_at_right ? "fill=\"var(--soft)\" font-size=\"11\" text-anchor=\"end\""
                            : "fill=\"var(--soft)\" font-size=\"11\"",
                spec.marker_label);
  }
  return out;
}

/// The band as one polygon for each run of finite points.
std::string Band(const Plot& plot, const ChartSeries& series) {
  std::string out;
  std::string upper, lower;
  const auto flush = [&] {
    if (!upper.empty()) {
      out += "<polygon points=\"" + upper + lower + "\" fill=\"" + Color(series.style) +
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
    const std::string x = Number(plot.X(series.x[i]));
    upper += x + "," + Number(plot.Y(series.high[i])) + " ";
    lower.insert(0, x + "," + Number(plot.Y(series.low[i])) + " ");
  }
  flush();
  return out;
}

std::string Curve(const Plot& plot, const ChartSeries& series, bool has_line) {
  std::string path, markers;
  bool pen_is_down = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) {
      pen_is_down = false;
      continue;
    }
    const double x = plot.X(series.x[i]), y = plot.Y(series.y[i]);
    path += (pen_is_down ? "L" : "M") + Number(x) + " " + Number(y);
    markers += Marker(x, y, series.style);
    pen_is_down = true;
  }
  if (path.empty() || !has_line) return markers;
  std::string out = "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + Color(series.style) +
                    "\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-dasharray=\"";
  return out.append(kDashes[series.style % kDashes.size()]).append("\"/>") + markers;
}

constexpr double kCharacterWidth = 6.8;

/// Entries side by side, wrapped; returns the markup and moves `y` below the last row.
std::string Legend(const std::vector<ChartSeries>& all_series, bool has_lines, double width,
                   double* y) {
  std::string out;
  double x = 0;
  for (const ChartSeries& series : all_series) {
    if (series.name.empty()) continue;
    const double entry_width = 46 + kCharacterWidth * static_cast<double>(series.name.size());
    if (x > 0 && x + entry_width > width) {
      x = 0;
      *y += 18;
    }
    std::string stroke =
        "stroke-width=\"2\" stroke=\"" + Color(series.style) + "\" stroke-dasharray=\"";
    stroke.append(kDashes[series.style % kDashes.size()]).append("\"");
    if (has_lines) out += Line(x, *y - 4, x + 26, *y - 4, stroke);
    out += Marker(x + 13, *y - 4, series.style) + Text(x + 32, *y, "", series.name);
    x += entry_width;
  }
  *y += 10;
  return out;
}

}  // namespace

std::vector<double> NiceTicks(double low, double high, int count) {
  if (!HasSpan(low, high) || count < 1) return {low};
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double share = raw / power;
  const double step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string LineChartSvg(const ChartSpec& spec) {
  constexpr double kWidth = 620, kPlotHeight = 250;
  Range x, y;
  for (const ChartSeries& series : spec.series) {
    x.Add(series.x);
    y.Add(series.y);
    y.Add(series.low);
    y.Add(series.high);
  }
  if (spec.reference_y) y.Add(*spec.reference_y);
  double legend_bottom = 38;
  const std::string legend = Legend(spec.series, spec.x_names.empty(), kWidth, &legend_bottom);
  const Range x_range = spec.x_names.empty()
                            ? Padded(x, 0.02)
                            : Range{-0.5, static_cast<double>(spec.x_names.size()) - 0.5};
  const Plot plot{58,      legend_bottom,  kWidth - 10, legend_bottom + kPlotHeight,
                  x_range, Padded(y, 0.06)};
  std::string out = Header(kWidth, plot.bottom + 46, spec.alt_text, spec.title) + legend;
  if (y.IsEmpty()) {
    return out +
           Text(kWidth / 2, legend_bottom + kPlotHeight / 2, "text-anchor=\"middle\"",
                "no values") +
           "</svg>\n";
  }
  out += Axes(plot, spec);
  for (std::size_t i = 0; i < spec.series.size(); ++i) out += Band(plot, spec.series[i]);
  for (std::size_t i = spec.series.size(); i-- > 0;) {
    out += Curve(plot, spec.series[i], spec.x_names.empty());
  }
  return out + "</svg>\n";
}

std::string DistributionSvg(const DistributionSpec& spec) {
  constexpr double kWidth = 620, kRowHeight = 34, kTop = 34;
  Range range;
  std::size_t longest_name = 0;
  for (const DistributionGroup& group : spec.groups) {
    range.Add(group.values);
    longest_name = std::max(longest_name, group.name.size());
  }
  if (spec.reference_value) range.Add(*spec.reference_value);
  const double left = std::min(260.0, 16 + kCharacterWidth * static_cast<double>(longest_name));
  const double bottom = kTop + kRowHeight * static_cast<double>(spec.groups.size());
  const Plot plot{left, kTop, kWidth - 10, bottom, Padded(range, 0.04), {0, 1}};
  std::string out = Header(kWidth, bottom + 46, spec.alt_text, spec.title);
  const std::vector<double> ticks = NiceTicks(plot.x.low, plot.x.high, 6);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  for (const double tick : ticks) {
    out += Line(plot.X(tick), kTop, plot.X(tick), bottom, "stroke=\"var(--grid)\"");
    out += Text(plot.X(tick), bottom + 18, "text-anchor=\"middle\" fill=\"var(--soft)\"",
                TickLabel(tick, step));
  }
  out += Text((plot.left + plot.right) / 2, bottom + 38,
              "text-anchor=\"middle\" fill=\"var(--soft)\"", spec.value_label);
  if (spec.reference_value) {
    out += Line(plot.X(*spec.reference_value), kTop, plot.X(*spec.reference_value), bottom,
                "stroke=\"var(--soft)\" stroke-dasharray=\"3 3\"");
  }
  for (std::size_t row = 0; row < spec.groups.size(); ++row) {
    const DistributionGroup& group = spec.groups[row];
    const double y = kTop + kRowHeight * (static_cast<double>(row) + 0.5);
    out += Text(plot.left - 10, y + 4, "text-anchor=\"end\"", group.name);
    double sum = 0;
    for (const double value : group.values) {
      sum += value;
      out += "<circle cx=\"" + Number(plot.X(value)) + "\" cy=\"" + Number(y) +
             "\" r=\"4\" fill-opacity=\"0.55\" fill=\"" + Color(row) + "\"/>";
    }
    if (group.values.empty()) continue;
    const double mean_x = plot.X(sum / static_cast<double>(group.values.size()));
    out += Line(mean_x, y - 11, mean_x, y + 11, "stroke-width=\"2.5\" stroke=\"currentColor\"");
  }
  return out + "</svg>\n";
}

}  // namespace interlacer
