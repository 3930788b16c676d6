#pragma once

/// A page of the experiments on masks: claims with verdicts, charts, tables and points, as HTML,
/// JSON and CSV. Pure functions, thread-safe.

#include <string>
#include <vector>

#include "common/json.h"
#include "evaluation/html.h"
#include "evaluation/svg.h"
#include "experiments/masks/claim.h"

namespace interlacer {

/// Everything that was measured, one row a point; null where there is nothing.
struct PointTable {
  std::vector<std::string> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;
};

struct MaskPage {
  std::string name;
  std::string title;
  std::vector<std::string> notes;  ///< what was measured and how, a paragraph each
  std::vector<MaskClaim> claims;
  std::vector<ChartSpec> charts;
  std::vector<HtmlTable> tables;
  PointTable points;
};

/// How a page was made.
struct MaskProvenance {
  bool is_quick = false;
  /// What bounds the lengths (MaskRun): pages of other bounds are not of one study.
  nlohmann::ordered_json bounds;
  int cores = 1;
  /// Processes that wanted a core, on average over a minute, before and after.
  double load_before = 0, load_after = 0;
  double seconds = 0;
  std::string command;
  std::string created_time;
};

/// "2 of 5 claims do not hold, 1 is undecided."
std::string CountText(const std::vector<MaskClaim>& claims);
/// Claims that do not hold first, undecided ones next, then by their order.
std::vector<MaskClaim> FailuresFirst(std::vector<MaskClaim> claims);

std::string MaskPageHtml(const MaskPage& page, const MaskProvenance& provenance);
nlohmann::ordered_json MaskPageToJson(const MaskPage& page, const MaskProvenance& provenance);
std::string PointsToCsv(const PointTable& points);

/// One page with the claims of all, from their JSON.
std::string MaskOverviewHtml(const std::vector<nlohmann::ordered_json>& pages);
/// One line a claim, failures first.
std::string ClaimsToText(const std::vector<nlohmann::ordered_json>& pages);

}  // namespace interlacer
