#pragma once

/// Recordings of messages from outside: the messages alone, and the containers with all that an
/// import does with them before it writes. As tests/fuzz/targets.h.

#include <vector>

#include "tests/fuzz/targets.h"

namespace interlacer::testing {

/// Messages, mcap, sqlite.
std::vector<FuzzTarget> BagTargets();

}  // namespace interlacer::testing
