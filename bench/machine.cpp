#include "bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "bench/revision.h"
#include "common/version.h"

namespace interlacer::bench {
namespace {

/// Value of the first line "key : value" of a file of /proc; empty if absent.
std::string ProcValue(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string RunForLine(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  char line[256] = "";
  if (!pipe || !std::fgets(line, sizeof(line), pipe.get())) return "";
  std::string text = line;
  text.erase(text.find_last_not_of("\r\n") + 1);
  return text;
}

}  // namespace

nlohmann::ordered_json DescribeMachine() {
  std::istringstream flags(ProcValue("/proc/cpuinfo", "flags"));
  std::vector<std::string> features;
  for (std::string flag; flags >> flag;) {
    for (const char* known : {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile"}) {
      if (flag == known) features.push_back(flag);
    }
  }
  return {{"cpu", ProcValue("/proc/cpuinfo", "model name")},
          {"family", ProcValue("/proc/cpuinfo", "cpu family")},
          {"model", ProcValue("/proc/cpuinfo", "model\t")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory", ProcValue("/proc/meminfo", "MemTotal")},
          {"features", features},
          {"load_average", RunForLine("cut -d ' ' -f 1-3 /proc/loadavg")}};
}

nlohmann::ordered_json DescribeVersions() {
  nlohmann::ordered_json versions = {{"interlacer", kVersion}, {"compiler", "g++ " __VERSION__}};
#ifdef INTERLACER_BENCH_TORCH_VERSION
  versions["torch"] = INTERLACER_BENCH_TORCH_VERSION;
#endif
#ifdef INTERLACER_BENCH_GRPC_VERSION
  versions["grpc"] = INTERLACER_BENCH_GRPC_VERSION;
#endif
  return versions;
}

std::string SourceDir() {
  const char* chosen = std::getenv("BENCH_SOURCE_DIR");
  return chosen ? chosen : INTERLACER_BENCH_SOURCE_DIR;
}

std::string GitRevision() {
  if (std::size(kBuiltRevision) > 1) return kBuiltRevision;
  const char* const told = std::getenv("BENCH_REVISION");
  return told != nullptr && *told != 0 ? told : "unknown";
}

std::string TimeUtc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace interlacer::bench
