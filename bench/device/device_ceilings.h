#pragma once

/// What the CUDA device can do at best: the denominators of floors, and the answer to --ceilings.
///
/// Figures are medians of graph replays; the copy's is measured once per process. Errors:
/// std::runtime_error. Threads: one at a time.

#include <nlohmann/json.hpp>
#include <vector>

namespace interlacer::bench {

/// Bytes read plus bytes written by a copy that does not fit the L2.
double DeviceCopyBytesPerSecond();

/// Fills the L2 with other data; waits.
void FlushDeviceCaches();

/// Copy, reads from the L2, and graphs of 1, 5 and 20 empty kernels.
std::vector<nlohmann::ordered_json> MeasureDeviceCeilings();

}  // namespace interlacer::bench
