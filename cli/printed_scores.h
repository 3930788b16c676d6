#pragma once

/// What `evaluate` prints. Pure function, thread-safe.

#include <string>

#include "evaluation/results.h"

namespace interlacer::cli {

/// Counts, then a line a step: SSIM of the whole picture, then where something moves, then PSNR,
/// each beside its baselines; once more for cameras that the model did not see, where there are
/// any.
std::string ScoreTable(const Results& results);

}  // namespace interlacer::cli
