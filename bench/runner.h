#pragma once

/// Checks one case, measures it and writes the result. Threads: one at a time.

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "bench/case.h"
#include "bench/options.h"
#include "bench/platform.h"

namespace interlacer::bench {

struct Outcome {
  nlohmann::ordered_json json;  ///< schema interlacer.bench/1
  bool correct = false;
  bool skipped = false;   ///< the peer is missing
  bool goal_held = true;  ///< also true without a goal
};

/// Runs the gate first; if it fails, nothing is measured and the ratio is null. On an absent
/// platform nothing runs, and the case is skipped with its reason.
Outcome RunCase(const Platform& platform, const Case& item, const Options& options);

/// Adds the origin: versions, machine, git revision, time.
void AddOrigin(const Platform& platform, nlohmann::ordered_json* json);

/// Prints one line of the human-readable table.
void PrintRow(const Outcome& outcome, std::ostream& out);

}  // namespace interlacer::bench
