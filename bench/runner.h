#pragma once

/// Checks and times one case and writes it down. Threads: one at a time.

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
  bool goal_held = true;  ///< or no goal was asked for
};

/// The gate first; without it nothing is timed and the ratio is null. Where the platform is absent
/// nothing is run, and the case is skipped with its reason.
Outcome RunCase(const Platform& platform, const Case& item, const Options& options);

/// Where and when: versions, machine, git revision, time.
void AddOrigin(const Platform& platform, nlohmann::ordered_json* json);

/// One line of the table for people.
void PrintRow(const Outcome& outcome, std::ostream& out);

}  // namespace interlacer::bench
