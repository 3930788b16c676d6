/// libFuzzer over one target of tests/fuzz/targets.h, which INTERLACER_FUZZ_TARGET names. Its seeds
/// are written into the folder INTERLACER_FUZZ_SEEDS. scripts/fuzz runs it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const interlacer::testing::FuzzTarget& Target() {
  static const std::vector<interlacer::testing::FuzzTarget> targets =
      interlacer::testing::FuzzTargets();
  static const auto target = std::find_if(targets.begin(), targets.end(), [](const auto& each) {
    return each.name == Variable("INTERLACER_FUZZ_TARGET");
  });
  if (target != targets.end()) return *target;
  std::fprintf(stderr, "INTERLACER_FUZZ_TARGET: expected one of");
  for (const auto& each : targets) std::fprintf(stderr, " %s", each.name.c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  GTEST_FLAG_SET(throw_on_failure, true);  // which ends the fuzzer with the input at hand
  const std::string folder = Variable("INTERLACER_FUZZ_SEEDS");
  int number = 0;
  for (const std::string& seed : Target().seeds) {
    if (!folder.empty()) {
      std::ofstream(std::filesystem::path(folder) / std::to_string(number++), std::ios::binary)
          << seed;
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Target().check({reinterpret_cast<const char*>(data), size});
  return 0;
}
