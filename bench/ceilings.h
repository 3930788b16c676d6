#pragma once

/// What this machine can do at best: the denominators of floors, and the answer to --ceilings.
///
/// Every figure is the best of several runs on all threads of the pool (common/thread_pool.h) and
/// is measured once per process, on random data. Threads: one at a time.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace interlacer::bench {

/// Bytes read plus bytes written by a copy that does not fit any cache.
double CopyBytesPerSecond();
/// Best rate of a matrix product of the library that the dense layers use; "f32" or "bf16".
double DenseFlopsPerSecond(const std::string& dtype);

/// Fills every core's caches with other data.
void FlushCaches();

/// One object a ceiling: name, value, unit, threads.
std::vector<nlohmann::ordered_json> MeasureCeilings();

}  // namespace interlacer::bench
