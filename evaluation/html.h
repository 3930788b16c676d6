#pragma once

/// The parts of a static page: escaping, embedded pictures, tables and the page around them.
///
/// A page is one file without outside link or font: it works offline, in light and dark, and on
/// paper. Its policy lets run and style nothing but what it was made with, by hash. Everything that
/// comes from outside (names, paths, messages) passes EscapeHtml exactly once; functions that take
/// "text" escape, functions that take "html" do not. Thread-safe, except that one ImageEmbedder
/// belongs to one page.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/image.h"

namespace interlacer {

/// & < > " ' become entities; what no page can show becomes \xNN (common/printable_text.h).
std::string EscapeHtml(std::string_view text);

/// JPEG thumbnails as data URIs, until `budget_bytes` of page are used up; what does not fit is
/// replaced by its description.
class ImageEmbedder {
 public:
  explicit ImageEmbedder(std::int64_t budget_bytes = kDefaultBudgetBytes)
      : left_bytes_(budget_bytes) {}

  /// <img> of at most `max_width_px`; smaller images are kept as they are.
  std::string Embed(const RgbImage& image, std::string_view alt_text, int max_width_px);

  /// Whether nothing was replaced so far.
  bool has_all() const { return has_all_; }

  static constexpr std::int64_t kDefaultBudgetBytes = 8ll << 20;

 private:
  std::int64_t left_bytes_;
  bool has_all_ = true;
};

/// The largest with which a page stays a file that mail takes.
inline constexpr std::int64_t kMaxPageBytes = 4'000'000;

/// A table of texts. The first column is a row header; the others are right-aligned when numeric.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  bool is_numeric = true;
};
std::string TableHtml(const HtmlTable& table);

/// A row of figures under a heading of their own: big number, label, small print.
struct HeadlineFigure {
  std::string value;
  std::string label;
  std::string note;
};
std::string HeadlineHtml(const std::vector<HeadlineFigure>& figures);

/// <section> with a heading and an anchor-free body.
std::string SectionHtml(std::string_view heading_text, const std::string& body_html);
std::string ParagraphHtml(std::string_view text);
/// A body that is folded behind its summary.
std::string DetailsHtml(std::string_view summary_text, const std::string& body_html);

/// The whole document; `verdict_text` is the sentence under the title, `script` runs at the end.
std::string PageHtml(std::string_view title_text, std::string_view verdict_text,
                     const std::string& body_html, std::string_view script = "");

}  // namespace interlacer
