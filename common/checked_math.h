#pragma once

/// Overflow-checked products of untrusted counts. Pure functions, thread-safe.

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace interlacer {

/// Product of non-negative factors, or nothing if one is negative or the product exceeds int64.
inline std::optional<std::int64_t> CheckedProduct(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  bool zero = false;
  for (std::int64_t f : factors) {
    if (f < 0) return std::nullopt;
    zero = zero || f == 0;
  }
  if (zero) return 0;
  for (std::int64_t f : factors) {
    if (__builtin_mul_overflow(product, f, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace interlacer
