#pragma once

/// What is printed with every result: machine, versions, revision, time. Reads /proc and asks git.
/// Threads: may run together.

#include <nlohmann/json.hpp>
#include <string>

namespace interlacer::bench {

/// Model, cores, memory and the instruction sets that matter.
nlohmann::ordered_json DescribeMachine();
/// Compiler and the libraries that both sides use.
nlohmann::ordered_json DescribeVersions();
/// The source tree with the peers' scripts: that of the build, or BENCH_SOURCE_DIR for a program
/// that was built elsewhere.
std::string SourceDir();
/// Of the source tree this program was built from, "+changes" when it had any, or what
/// BENCH_REVISION in the environment says, for a tree without its history; else "unknown".
std::string GitRevision();
/// ISO 8601 with seconds.
std::string TimeUtc();

}  // namespace interlacer::bench
