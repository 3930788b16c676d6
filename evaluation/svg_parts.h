#pragma once

/// The parts of charts as SVG: numbers, texts that fit, ranges of values and their ticks. For the
/// files that draw charts (evaluation/svg.h). Texts are escaped here. Pure functions, thread-safe.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace interlacer::svg {

/// How many of the page's colours there are.
inline constexpr int kColorCount = 10;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  /// Those that are finite.
  void Add(double value);
  void Add(const std::vector<double>& values);
  bool IsEmpty() const { return low > high; }
};

/// Room around the data; a single value gets a unit of its own size.
Range Padded(Range range, double share);

struct Plot {
  double left, top, right, bottom;  ///< in SVG units
  Range x, y;
  double X(double v) const { return left + (v - x.low) / (x.high - x.low) * (right - left); }
  double Y(double v) const { return bottom - (v - y.low) / (y.high - y.low) * (bottom - top); }
};

/// Round steps that cover [low, high] with about `count` ticks.
std::vector<double> NiceTicks(double low, double high, int count);

struct Tick {
  double value;
  std::string label;  ///< with as many decimals as the steps need
};
/// About `count` of them.
std::vector<Tick> TicksOf(const Range& range, int count);

std::string Number(double value);
/// With as many decimals as a step between ticks needs.
std::string TickLabel(double value, double step);
/// In SVG units, of a text of 12 px; no more than an estimate.
double WidthOf(std::string_view text);

std::string Text(double x, double y, std::string_view attributes, std::string_view text);
/// What does not fit is left out in the middle, and all of it stands in a <title>.
std::string FittedText(double x, double y, std::string_view attributes, const std::string& text,
                       double most_width);
std::string Line(double x1, double y1, double x2, double y2, std::string_view attributes);
std::string Color(std::size_t index);
/// The opening tag and the title.
std::string Header(double width, double height, const std::string& alt_text,
                   const std::string& title);

}  // namespace interlacer::svg
