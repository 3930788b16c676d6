#pragma once

/// Roofline ceilings of the CPU: peak memory and arithmetic rates, for floors and for --ceilings.
///
/// Every figure is the best of several runs on all threads of the pool (common/thread_pool.h) and
/// is measured once per process, on random data. Threads: one at a time.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace interlacer::bench {

/// Rate of bytes read plus bytes written by a copy that does not fit any cache.
double CopyBytesPerSecond();
/// Best rate of a matrix product in the library of the dense layers; "f32" or "bf16".
double DenseFlopsPerSecond(const std::string& dtype);

/// Evicts all data from every core's caches.
void FlushCaches();

/// One object per ceiling: name, value, unit, threads.
std::vector<nlohmann::ordered_json> MeasureCeilings();

}  // namespace interlacer::bench
