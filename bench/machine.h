#pragma once

/// The origin of a result: machine, versions, revision, time. Reads /proc. Threads: may run
/// together.

#include <nlohmann/json.hpp>
#include <string>

namespace interlacer::bench {

/// Processor model, cores, memory and the relevant instruction sets.
nlohmann::ordered_json DescribeMachine();
/// Versions of the compiler and of the libraries on both sides.
nlohmann::ordered_json DescribeVersions();
/// Source tree with the peers' scripts: that of the build, or BENCH_SOURCE_DIR for a program that
/// was built elsewhere.
std::string SourceDir();
/// Revision that this program was built of, with "+changes" if the tree was modified; else
/// BENCH_REVISION from the environment, for a tree without history; else "unknown". The tree may
/// have gone on since.
std::string GitRevision();
/// Current time in ISO 8601 with seconds.
std::string TimeUtc();

}  // namespace interlacer::bench
