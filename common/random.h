#pragma once

/// Counter-based random numbers, equal on every device and for every thread count.
///
/// Philox4x32-10: 64-bit key = seed, counter = (stream, a, b, c), four 32-bit words out; a 64-bit
/// draw is the first two words (first = low half). Pure functions, thread-safe, usable in CUDA
/// code. Source: philox.

#include <array>
#include <cmath>
#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

enum class RandomStream : std::uint32_t {
  kSubsample = 1,
  kRays = 2,
  kDepthJitter = 3,
  kWalks = 4,
  kAnchors = 5,
  kRandomFeatures = 6,
  kWeightInit = 7,
  kDataGeneration = 8,
  kBootstrap = 10,
  kPositionJitter = 11,
  kBackgrounds = 12,
  kAugmentation = 13,
  kPlanner = 14,
};

struct PhiloxWords {
  std::uint32_t word[4];
};

INTERLACER_HOST_DEVICE inline PhiloxWords Philox(std::uint64_t seed, std::uint32_t stream,
                                                 std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t c) {
  std::uint32_t x0 = stream, x1 = a, x2 = b, x3 = c;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * x0;
    const std::uint64_t p1 = 0xCD9E8D57ull * x2;
    const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x1 ^ k0;
    const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x1 = static_cast<std::uint32_t>(p1);
    x3 = static_cast<std::uint32_t>(p0);
    x0 = y0;
    x2 = y2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{x0, x1, x2, x3}};
}

/// [0,1) with 24 bits.
INTERLACER_HOST_DEVICE inline float ToUniform(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

/// Standard normal (Box-Muller on the first two words of one block).
inline double ToNormal(const PhiloxWords& words) {
  const double u = (static_cast<double>(words.word[0]) + 0.5) * 0x1.0p-32;
  const double v = static_cast<double>(words.word[1]) * 0x1.0p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586476925 * v);
}
/// Of one counter.
inline double NormalDraw(std::uint64_t seed, RandomStream stream, std::uint32_t a, std::uint32_t b,
                         std::uint32_t c) {
  return ToNormal(Philox(seed, static_cast<std::uint32_t>(stream), a, b, c));
}

/// A sequence of draws under one (seed, stream, a, b); counter word c advances. Not shared between
/// threads.
class RandomSequence {
 public:
  INTERLACER_HOST_DEVICE RandomSequence(std::uint64_t seed, RandomStream stream,
                                        std::uint32_t a = 0, std::uint32_t b = 0)
      : seed_(seed), stream_(static_cast<std::uint32_t>(stream)), a_(a), b_(b) {}

  INTERLACER_HOST_DEVICE std::uint32_t Next32() {
    return Philox(seed_, stream_, a_, b_, c_++).word[0];
  }
  INTERLACER_HOST_DEVICE std::uint64_t Next64() {
    const PhiloxWords w = Philox(seed_, stream_, a_, b_, c_++);
    return (static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0];
  }
  /// [0,1).
  INTERLACER_HOST_DEVICE float Uniform() { return ToUniform(Next32()); }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  /// Uniform integer in [0,n), n >= 1; bias below 2^-32.
  INTERLACER_HOST_DEVICE std::uint32_t Below(std::uint32_t n) {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(Next32()) * n) >> 32);
  }
  double Normal() { return ToNormal(Philox(seed_, stream_, a_, b_, c_++)); }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_, a_, b_, c_ = 0;
};

}  // namespace interlacer
