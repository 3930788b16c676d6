#pragma once

/// Conversions between float32 and bfloat16 on the host: the upper 16 bits of float32, rounded to
/// nearest even. NaN gives 0x7FFF, as on CUDA devices. Pure functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

inline std::uint16_t ToBfloat16(float x) {
  if (std::isnan(x)) return 0x7FFF;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline float FromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline std::vector<std::uint16_t> ToBfloat16(std::span<const float> values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(ToBfloat16(value));
  return bits;
}

inline std::vector<float> FromBfloat16(std::span<const std::uint16_t> bits) {
  std::vector<float> values;
  values.reserve(bits.size());
  for (const std::uint16_t value : bits) values.push_back(FromBfloat16(value));
  return values;
}

}  // namespace interlacer
