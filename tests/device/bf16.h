#pragma once

/// bfloat16 numbers for tests, as bits and as the floats they stand for.

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace interlacer::testing {

/// Nearest even; NaN stays NaN.
inline std::uint16_t Bf16Bits(float x) {
  if (std::isnan(x)) return 0x7FFF;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
inline float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
inline float RoundedToBf16(float x) { return FromBf16(Bf16Bits(x)); }

inline std::vector<std::uint16_t> Bf16Bits(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(Bf16Bits(value));
  return bits;
}
inline std::vector<float> FromBf16(const std::vector<std::uint16_t>& bits) {
  std::vector<float> values;
  for (const std::uint16_t value : bits) values.push_back(FromBf16(value));
  return values;
}

}  // namespace interlacer::testing
