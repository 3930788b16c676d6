#pragma once

/// Loops that keep the arithmetic units of one core busy from registers, and one that reads memory.
/// Threads: may run together.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace interlacer::bench {

struct RegisterRate {
  std::string name;
  /// Runs so many iterations; returns the floating-point operations done.
  double (*run)(std::int64_t iterations);
};

/// Those that this processor has.
std::vector<RegisterRate> RegisterRates();

/// Sum of `count` floats, `passes` times; the return value keeps the reads alive.
float ReadAgainAndAgain(const float* data, std::size_t count, int passes);

// One file an instruction set.
double RunFmaAvx2(std::int64_t iterations);
double RunFmaAvx512(std::int64_t iterations);
double RunBf16DotAvx512(std::int64_t iterations);
double RunBf16TilesAmx(std::int64_t iterations);

}  // namespace interlacer::bench
