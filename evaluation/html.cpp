#include "evaluation/html.h"

#include <algorithm>
#include <array>

#include "common/base64.h"
#include "common/image_codec.h"
#include "common/printable_text.h"
#include "common/sha256.h"

namespace interlacer {
namespace {

constexpr int kThumbnailJpegQuality = 82;
/// Bytes of a cell that is not broken within a word: a number, a name.
constexpr std::size_t kMostUnbroken = 12;

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --ink: #1d2129; --soft: #5d6470; --line: #e2e0da; --grid: #eceae4; --scene: #fbfaf8;
  --accent: #0b62a4; --good: #00795a; --bad: #b3401a; --shadow: 0 1px 2px #0000000d, 0 4px 16px #0000000a;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a4508b; --c4: #8a6d00; --c5: #3f8fc0; --c6: #555555; --c7: #c03a6b; --c8: #5b7f2b; --c9: #8c4a2f;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --card: #1c2027; --ink: #e7e9ee; --soft: #9aa3b2; --line: #2f353f; --grid: #272c35; --scene: #59616d;
    --accent: #6cb6f2; --good: #4fc79f; --bad: #f08a5d; --shadow: none;
    --c0: #56b4e9; --c1: #f0904a; --c2: #3fc79a; --c3: #d99ac5; --c4: #e6c84a; --c5: #9ccbe8; --c6: #b5bac4; --c7: #f08aa8; --c8: #b6d67a; --c9: #d9a086;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", Roboto, "DejaVu Sans", sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 40px 24px 72px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 8px; letter-spacing: -0.015em; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 0 0 14px; letter-spacing: -0.01em; }
h3 { font-size: 15px; margin: 24px 0 8px; }
p { margin: 0 0 12px; max-width: 84ch; }
.verdict { font-size: 18px; color: var(--soft); margin-bottom: 28px; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 24px;
  margin: 0 0 20px; box-shadow: var(--shadow);
}
.headline { display: flex; flex-wrap: wrap; gap: 14px; margin: 0 0 20px; padding: 0; list-style: none; }
.headline li {
  flex: 1 1 180px; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 16px 20px; box-shadow: var(--shadow);
}
.headline b { display: block; font-size: 28px; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.headline span { display: block; font-size: 14px; }
.headline small { color: var(--soft); font-size: 13px; }
figure { margin: 0 0 18px; }
figcaption { color: var(--soft); font-size: 14px; margin-top: 6px; }
svg { display: block; width: 100%; height: auto; color: var(--ink); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(520px, 100%), 1fr)); gap: 20px; }
.charts figure { overflow-x: auto; }
.charts svg { min-width: 520px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
caption { text-align: left; color: var(--soft); padding: 0 0 8px; position: sticky; left: 0; max-width: calc(100vw - 98px); }
thead th { vertical-align: bottom; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; }
thead th, tbody th, .short { overflow-wrap: normal; }
tbody th { font-weight: 500; }
tr:last-child td, tr:last-child th { border-bottom: 0; }
table.numeric td, table.numeric thead th:not(:first-child) { text-align: right; }
table.numeric td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll + .scroll { margin-top: 22px; }
.strip { border-collapse: separate; border-spacing: 4px; }
.strip th, .strip td { border: 0; padding: 0; text-align: center; font-size: 13px; color: var(--soft); }
.strip thead th { white-space: normal; font-weight: 500; vertical-align: bottom; padding-bottom: 2px; }
.strip tbody th { text-align: right; padding-right: 10px; color: var(--ink); width: 84px; vertical-align: middle; }
.strip img {
  display: block; margin: 0 auto; width: 100%; min-width: 88px; max-width: 240px; height: auto;
  border-radius: 6px; background: #fff; outline: 1px solid var(--line);
}
.strip span { display: block; font-variant-numeric: tabular-nums; padding-top: 2px; }
.missing { display: block; padding: 8px; border: 1px dashed var(--line); border-radius: 6px; font-size: 12px; max-width: 180px; }
.warning { border-left: 4px solid var(--bad); padding: 8px 14px; margin: 0 0 12px; font-weight: 600; }
code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 13px; margin-top: 28px; }
.scene[hidden] { display: none; }
.scene-stage { position: relative; }
.scene-canvas {
  display: block; width: 100%; aspect-ratio: 16 / 10; max-height: 78vh; border: 1px solid var(--line); border-radius: 8px;
  background: var(--scene); touch-action: none; cursor: grab;
}
.scene-canvas:active { cursor: grabbing; }
.scene :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.scene-tag {
  position: absolute; transform: translate(8px, -50%); padding: 0 6px; border-radius: 4px; font-size: 12px;
  background: var(--card); color: var(--ink); border: 1px solid var(--line); pointer-events: none; white-space: nowrap;
}
.scene-controls { display: flex; gap: 12px; align-items: center; margin: 12px 0 6px; }
.scene-controls input { flex: 1; min-width: 80px; accent-color: var(--accent); }
.scene button {
  font: inherit; font-size: 14px; min-width: 76px; padding: 5px 14px; color: var(--ink); background: var(--card);
  border: 1px solid var(--soft); border-radius: 7px; cursor: pointer;
}
.scene-now { margin: 0 0 8px; font-variant-numeric: tabular-nums; }
.scene-layers { display: flex; flex-wrap: wrap; gap: 4px 18px; border: 0; padding: 0; margin: 0 0 10px; font-size: 14px; }
.scene-layers legend { float: left; margin-right: 18px; color: var(--soft); }
.scene-layers label { display: inline-flex; gap: 6px; align-items: center; }
.scene-layers input { accent-color: var(--accent); }
.scene-layers i { width: 12px; height: 12px; border-radius: 3px; }
.scene-help { color: var(--soft); font-size: 13px; }
@media print {
  :root { color-scheme: light; }
  .scene-controls, .scene-layers, .scene-help { display: none; }
  .scene-canvas { max-height: none; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; }
  .strip { border-spacing: 2px; table-layout: fixed; width: 100%; }
  .strip th, .strip td { font-size: 9px; overflow-wrap: normal; }
  .strip tbody th, .strip thead th:first-child { width: 62px; padding-right: 6px; }
  .strip img { min-width: 0; }
  .charts { grid-template-columns: 1fr 1fr; }
  .charts figure { break-inside: avoid; overflow: visible; }
  .charts svg { min-width: 0; }
  section:has(.charts) { break-inside: auto; }
  table { font-size: 11px; }
  body { background: #fff; } main { max-width: none; padding: 0; }
  section, .headline li { box-shadow: none; break-inside: avoid; }
}
)css";

std::string Cell(std::string_view tag, std::string_view attributes, std::string_view text) {
  std::string out = "<";
  out.append(tag).append(attributes).append(">").append(EscapeHtml(text));
  return out.append("</").append(tag).append(">");
}

/// How a policy names the one text that it lets in.
std::string HashSource(std::string_view text) {
  return "'sha256-" + Base64(Sha256Bytes(text)) + "'";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : PrintableText(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ImageEmbedder::Embed(const RgbImage& image, std::string_view alt_text,
                                 int max_width_px) {
  const int width_px = std::min(image.width_px, max_width_px);
  const int height_px = std::max(1, static_cast<int>(static_cast<std::int64_t>(image.height_px) *
                                                     width_px / std::max(1, image.width_px)));
  const RgbImage thumbnail =
      width_px == image.width_px ? image : ResizeArea(image, width_px, height_px);
  const std::string data = Base64(EncodeJpeg(thumbnail, kThumbnailJpegQuality));
  const auto size_bytes = static_cast<std::int64_t>(data.size());
  if (size_bytes > left_bytes_) {
    has_all_ = false;
    return Cell("span", " class=\"missing\"", std::string(alt_text) + " (see the files beside)");
  }
  left_bytes_ -= size_bytes;
  return "<img src=\"data:image/jpeg;base64," + data + "\" width=\"" +
         std::to_string(thumbnail.width_px) + "\" height=\"" + std::to_string(thumbnail.height_px) +
         "\" alt=\"" + EscapeHtml(alt_text) + "\">";
}

std::string TableHtml(const HtmlTable& table) {
  std::string out = "<div class=\"scroll\"><table";
  if (table.is_numeric) out += " class=\"numeric\"";
  out += ">";
  if (!table.caption.empty()) out += Cell("caption", "", table.caption);
  if (!table.header.empty()) {
    out += "<thead><tr>";
    for (const std::string& text : table.header) out += Cell("th", " scope=\"col\"", text);
    out += "</tr></thead>";
  }
  out += "<tbody>";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_short = row[i].size() <= kMostUnbroken;
      out += i == 0 ? Cell("th", " scope=\"row\"", row[i])
                    : Cell("td", is_short ? " class=\"short\"" : "", row[i]);
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>\n";
}

std::string HeadlineHtml(const std::vector<HeadlineFigure>& figures) {
  std::string out = "<ul class=\"headline\">";
  for (const HeadlineFigure& figure : figures) {
    out += "<li>" + Cell("b", "", figure.value) + Cell("span", "", figure.label) +
           Cell("small", "", figure.note) + "</li>";
  }
  return out + "</ul>\n";
}

std::string SectionHtml(std::string_view heading_text, const std::string& body_html) {
  return "<section>" + Cell("h2", "", heading_text) + "\n" + body_html + "</section>\n";
}

std::string DetailsHtml(std::string_view summary_text, const std::string& body_html) {
  return "<details>" + Cell("summary", "", summary_text) + body_html + "</details>\n";
}

std::string ParagraphHtml(std::string_view text) { return Cell("p", "", text) + "\n"; }

std::string PageHtml(std::string_view title_text, std::string_view verdict_text,
                     const std::string& body_html, std::string_view script) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "base-uri 'none'; form-action 'none'; style-src " +
      HashSource(kStyle);
  if (!script.empty()) out += "; script-src " + HashSource(script);
  out += "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += Cell("title", "", title_text);
  out.append("\n<style>").append(kStyle).append("</style>\n</head>\n<body>\n<main>\n");
  out += Cell("h1", "", title_text);
  out += Cell("p", " class=\"verdict\"", verdict_text);
  out += "\n" + body_html + "</main>\n";
  if (!script.empty()) out.append("<script>").append(script).append("</script>\n");
  out += "</body>\n</html>\n";
  return out;
}

}  // namespace interlacer
