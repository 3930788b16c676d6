#pragma once

/// Frame strips of a report: truth and every variant's prediction, step by step, of the best, the
/// median and the worst episode. Reads the pictures beside the results; a missing one leaves its
/// place empty. Errors: none. Threads: calls with different embedders may run together.

#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/html.h"
#include "evaluation/report_input.h"

namespace interlacer {

struct RankedEpisode {
  std::string rank;  ///< "best", "median" or "worst"
  std::string id;
  double mean_ssim = 0;  ///< of the reference
};

/// Each once, where there are fewer than three.
std::vector<RankedEpisode> ChosenEpisodes(const ReportInput& in);

/// Empty without pictures; as wide as fits in `budget_bytes` (FittedStripsHtml).
std::string StripsHtml(const ReportInput& in, std::int64_t budget_bytes);

}  // namespace interlacer
