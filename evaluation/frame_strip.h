#pragma once

/// Pictures in a grid: rows are subjects (truth, prediction, ...), columns are steps.
/// One ImageEmbedder a page; pure apart from its budget.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/image.h"
#include "evaluation/html.h"

namespace interlacer {

struct StripFrame {
  std::optional<RgbImage> image;
  std::string note;  ///< under the picture, such as "0.912"
};

struct StripRow {
  std::string label;
  std::vector<StripFrame> frames;
};

struct FrameStrip {
  std::string caption;
  std::vector<std::string> columns;  ///< headings, such as "step 3 (1.5 s)"
  std::vector<StripRow> rows;
};

/// A table of thumbnails of at most `thumbnail_width_px`; alt texts name row and column.
std::string FrameStripHtml(const FrameStrip& strip, int thumbnail_width_px, ImageEmbedder* images);

/// What `make` makes of the widest thumbnails with which all pictures fit; with the narrowest, what
/// does not fit is named. `budget_bytes` is what a page has left beside its other texts; room for
/// its head, its style and what stands around thumbnails is kept.
std::string FittedStripsHtml(
    std::int64_t budget_bytes,
    const std::function<std::string(int thumbnail_width_px, ImageEmbedder* images)>& make);

/// |a - b| of the strongest channel, from white (equal) to dark red (64 and more); nothing when the
/// sizes differ.
std::optional<RgbImage> DifferenceImage(const RgbImage& a, const RgbImage& b);
/// Its scale, for a caption: "from white (equal) to dark red (64 of 255 grey levels and more)".
std::string DifferenceScaleText();

}  // namespace interlacer
