#pragma once

/// The parts of a simulated data set.
///
/// A scene is a function of its split and its seed: equal seeds of two splits share no draw. The
/// split test also takes its colours (data/sim/palette.h) and its camera places
/// (data/sim/scene.h) from ranges that the other two never use.
/// Thread-safety: constants and pure functions.

#include <string>
#include <vector>

#include "common/status.h"
#include "data/sim/palette.h"

namespace interlacer::sim {

enum class Split { kTrain, kVal, kTest };

/// "train", "val", "test", in the order of Split.
const std::vector<std::string>& SplitNames();
const std::string& NameOf(Split split);
/// INVALID_ARGUMENT ARGUMENT_INVALID for a name that is not in SplitNames.
StatusOr<Split> ParseSplit(const std::string& name);

ColorSet ColorsOf(Split split);

}  // namespace interlacer::sim
