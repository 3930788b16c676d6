#pragma once

/// What `evaluate` prints. Pure function, thread-safe.

#include <string>

#include "evaluation/results.h"

namespace interlacer::cli {

/// Counts, then a table a metric: a line for each subject, with the means at steps 0, 1, 4, 8, 24
/// and the last; particles in centimetres. Where there are cameras that the model did not see, the
/// tables of pictures once more for these alone, and on the pixels that were carried into them.
std::string ScoreTable(const Results& results);

}  // namespace interlacer::cli
