#pragma once

/// The program interlacer_bench, given the platforms that a build can measure.

#include <vector>

#include "bench/platform.h"

namespace interlacer::bench {

/// Exit code: 0 all gates passed, 1 a gate failed or a goal was missed, 2 usage, 3 device or
/// required peer absent. Platforms are created after the command line was parsed.
int RunProgram(int argc, const char* const* argv, std::vector<Platform> (*make_platforms)());

}  // namespace interlacer::bench
