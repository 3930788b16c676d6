#pragma once

/// The 3-D view of a report: of one rollout whose particles lie beside the pictures, that of the
/// median episode before those of the best and the worst. A page has one, which keeps it small.
/// A file that cannot be read is named in its place. Thread-safe.

#include <string>

#include "evaluation/report_input.h"

namespace interlacer {

/// Empty where the reference kept no particles.
std::string ReportSceneHtml(const ReportInput& in);

}  // namespace interlacer
