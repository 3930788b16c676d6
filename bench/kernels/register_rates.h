#pragma once

/// Loops that saturate the arithmetic units of one core from registers, and one that reads memory.
/// Threads: may run together.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace interlacer::bench {

struct RegisterRate {
  std::string name;
  /// Runs `iterations` iterations; returns the number of floating-point operations.
  double (*run)(std::int64_t iterations);
};

/// The loops that this processor supports.
std::vector<RegisterRate> RegisterRates();

/// Sums `count` floats `passes` times; returning the sum prevents the removal of the reads.
float ReadAgainAndAgain(const float* data, std::size_t count, int passes);

// One file per instruction set.
double RunFmaAvx2(std::int64_t iterations);
double RunFmaAvx512(std::int64_t iterations);
double RunBf16DotAvx512(std::int64_t iterations);
double RunBf16TilesAmx(std::int64_t iterations);

}  // namespace interlacer::bench
