#pragma once

/// Checks whether an evaluation may resume the results of another run.
///
/// Both must have the same weights and configuration, settings (CheckEqualSettings of
/// comparison.h), seed, data set and split: else values of different kinds would be averaged. What
/// the earlier file lacks is taken as equal. Pure function, thread-safe.

#include "common/status.h"
#include "evaluation/results.h"

namespace interlacer {

/// INVALID_ARGUMENT ARGUMENT_INVALID naming the first difference.
Status CheckResumable(const Results& before, const Results& now);

}  // namespace interlacer
