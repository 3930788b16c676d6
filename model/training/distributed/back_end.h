#pragma once

/// Checks that all ranks would use the same communication back end, before they join it: each rank
/// chooses by what its own machine has, and ranks that wait for each other in different back ends
/// hang.
///
/// Every rank calls it once, on a store that all share. Errors: StatusException FAILED_PRECONDITION
/// on every rank, with the ranks of each back end; INTERNAL when a rank did not announce its own
/// within the store's time limit. Threads: as the store.

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "model/training/distributed/environment.h"

namespace interlacer {

void CheckEqualBackEnds(const DistributedEnvironment& place, const std::string& back_end,
                        c10d::Store* store);

}  // namespace interlacer
