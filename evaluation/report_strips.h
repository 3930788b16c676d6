#pragma once

/// Frame strips of a report: truth and every variant's prediction, step by step, of the best, the
/// median and the worst episode. Reads the pictures beside the results; a missing one leaves its
/// place empty. Errors: none. Threads: calls with different embedders may run together.

#include <string>

#include "evaluation/html.h"
#include "evaluation/report_input.h"

namespace interlacer {

/// Empty without pictures.
std::string StripsHtml(const ReportInput& in, ImageEmbedder* images);

}  // namespace interlacer
