#include "evaluation/svg_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/printable_text.h"
#include "evaluation/fitted_text.h"
#include "evaluation/html.h"

namespace interlacer::svg {
namespace {

/// Of a character of 12 px, and of a bold one of 14 px.
constexpr double kCharacterWidth = 6.8, kTitleCharacterWidth = 8.3;

/// Whether there is room for ticks: between nearer ends lie only few doubles, and steps from one
/// tick to the next would not advance.
bool HasSpan(double low, double high) {
  constexpr double kLeastShare = 1e-12;
  const double span = high - low;
  return span > kLeastShare * std::max(std::abs(low), std::abs(high)) && std::isfinite(span);
}

std::string Fitted(double x, double y, std::string_view attributes, const std::string& text,
                   double most_width, double character_width) {
  const std::string shown =
      ShortenedInTheMiddle(text, static_cast<std::size_t>(most_width / character_width));
  std::string out = Text(x, y, attributes, shown);
  if (shown != PrintableText(text)) {
    out.insert(out.find('>') + 1, "<title>" + EscapeHtml(text) + "</title>");
  }
  return out;
}

}  // namespace

void Range::Add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::Add(const std::vector<double>& values) {
  for (const double v : values) Add(v);
}

Range Padded(Range range, double share) {
  if (range.IsEmpty()) return {0, 1};
  const double pad = HasSpan(range.low, range.high) ? (range.high - range.low) * share
                                                    : std::max(1e-3, std::abs(range.high) * 0.05);
  return {range.low - pad, range.high + pad};
}

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

std::vector<Tick> TicksOf(const Range& range, int count) {
  const std::vector<double> values = NiceTicks(range.low, range.high, count);
  const double step = values.size() > 1 ? values[1] - values[0] : 1;
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, TickLabel(value, step)});
  return ticks;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string TickLabel(double value, double step) {
  const int decimals =
      step >= 1 ? 0 : std::min(6, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < step * 1e-6 ? 0.0 : value);
  return text;
}

double WidthOf(std::string_view text) {
  return kCharacterWidth * static_cast<double>(WidthInCharacters(text));
}

std::string Text(double x, double y, std::string_view attributes, std::string_view text) {
  std::string out = "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" ";
  return out.append(attributes).append(">").append(EscapeHtml(text)).append("</text>");
}

std::string FittedText(double x, double y, std::string_view attributes, const std::string& text,
                       double most_width) {
  return Fitted(x, y, attributes, text, most_width, kCharacterWidth);
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  std::string out = "<line x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" + Number(x2) +
                    "\" y2=\"" + Number(y2) + "\" ";
  return out.append(attributes).append("/>");
}

std::string Color(std::size_t index) {
  return "var(--c" + std::to_string(index % kColorCount) + ")";
}

std::string Header(double width, double height, const std::string& alt_text,
                   const std::string& title) {
  return "<svg viewBox=\"0 0 " + Number(width) + " " + Number(height) +
         "\" role=\"img\" aria-label=\"" + EscapeHtml(alt_text) +
         "\" font-size=\"12\" font-family=\"inherit\" fill=\"currentColor\">" +
         Fitted(0, 15, "font-size=\"14\" font-weight=\"600\"", title, width, kTitleCharacterWidth);
}

}  // namespace interlacer::svg
