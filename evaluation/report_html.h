#pragma once

/// The HTML report of an evaluation: one model beside its baselines, or several models beside each
/// other.
///
/// Verdict, curves with 95 % bands, tables, paired differences, distribution over episodes, frame
/// strips of the best, the median and the worst episode, cost, failures, how it was computed.
/// Reads the pictures that lie beside the results; a missing picture leaves its place empty.
/// The page follows evaluation/html.h. Errors: none. Thread-safe.

#include <string>

#include "evaluation/report_input.h"

namespace interlacer {

std::string ReportHtml(const ReportInput& input);

}  // namespace interlacer
