#include "evaluation/frame_strip.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace interlacer {
namespace {

constexpr int kStrongestDifference = 64;

struct Rgb {
  double r, g, b;
};
constexpr Rgb kEqualColor{255, 255, 255};
constexpr Rgb kMiddleColor{246, 160, 90};
constexpr Rgb kStrongColor{103, 0, 13};

std::uint8_t Mix(double from, double to, double share) {
  return static_cast<std::uint8_t>(std::lround(from + (to - from) * share));
}

}  // namespace

std::string FittedStripsHtml(std::int64_t budget_bytes,
                             const std::function<std::string(int, ImageEmbedder*)>& make) {
  constexpr int kWidthsPx[] = {240, 192, 144, 112, 80};
  constexpr std::int64_t kFrameBytes = 80'000;
  std::string html;
  for (const int width_px : kWidthsPx) {
    ImageEmbedder images(budget_bytes - kFrameBytes);
    html = make(width_px, &images);
    if (images.has_all()) break;
  }
  return html;
}

std::optional<RgbImage> DifferenceImage(const RgbImage& a, const RgbImage& b) {
  if (a.width_px != b.width_px || a.height_px != b.height_px) return std::nullopt;
  RgbImage out = a;
  for (std::size_t i = 0; i + 2 < a.pixels.size(); i += 3) {
    int difference = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      difference = std::max(difference, std::abs(int{a.pixels[i + c]} - int{b.pixels[i + c]}));
    }
    const double share = std::min(1.0, difference / static_cast<double>(kStrongestDifference));
    const bool is_weak = share < 0.5;
    const Rgb& from = is_weak ? kEqualColor : kMiddleColor;
    const Rgb& to = is_weak ? kMiddleColor : kStrongColor;
    const double s = is_weak ? 2 * share : 2 * share - 1;
    out.pixels[i] = Mix(from.r, to.r, s);
    out.pixels[i + 1] = Mix(from.g, to.g, s);
    out.pixels[i + 2] = Mix(from.b, to.b, s);
  }
  return out;
}

std::string DifferenceScaleText() {
  return "from white (equal) to dark red (" + std::to_string(kStrongestDifference) +
         " of 255 grey levels and more)";
}

std::string FrameStripHtml(const FrameStrip& strip, int thumbnail_width_px, ImageEmbedder* images) {
  std::string out = ParagraphHtml(strip.caption) +
                    "<div class=\"scroll\"><table class=\"strip\"><thead><tr><td></td>";
  for (const std::string& column : strip.columns) {
    out += "<th scope=\"col\">" + EscapeHtml(column) + "</th>";
  }
  out += "</tr></thead><tbody>";
  for (const StripRow& row : strip.rows) {
    out += "<tr><th scope=\"row\">" + EscapeHtml(row.label) + "</th>";
    for (std::size_t i = 0; i < row.frames.size(); ++i) {
      const StripFrame& frame = row.frames[i];
      const std::string column = i < strip.columns.size() ? strip.columns[i] : "";
      out += "<td>";
      if (frame.image) {
        out += images->Embed(*frame.image, row.label + ", " + column, thumbnail_width_px);
      }
      if (!frame.note.empty()) out += "<span>" + EscapeHtml(frame.note) + "</span>";
      out += "</td>";
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace interlacer
