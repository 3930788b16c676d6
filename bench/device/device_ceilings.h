#pragma once

/// Roofline ceilings of the CUDA device: peak memory rates and launch costs, for floors and for
/// --ceilings.
///
/// All values are medians of graph replays; the copy rate is measured once per process. Errors:
/// std::runtime_error. Threads: one at a time.

#include <nlohmann/json.hpp>
#include <vector>

namespace interlacer::bench {

/// Rate of bytes read plus bytes written by a copy that does not fit the L2.
double DeviceCopyBytesPerSecond();

/// Evicts all data from the L2; waits.
void FlushDeviceCaches();

/// Measures a copy, reads from the L2, and graphs of 1, 5 and 20 empty kernels.
std::vector<nlohmann::ordered_json> MeasureDeviceCeilings();

}  // namespace interlacer::bench
