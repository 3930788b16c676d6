#pragma once

/// Numbers from their bytes, at any alignment: lists in this machine's order, where no bytes are no
/// numbers, and single ones with the most significant byte first.
///
/// Thread safety: any thread.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace interlacer {

/// The whole values of T in `bytes` (a string, a vector or a span of bytes); a rest is left out.
template <typename T, typename Bytes>
std::vector<T> ValuesOfBytes(const Bytes& bytes) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(*bytes.data()) == 1);
  std::vector<T> values(bytes.size() / sizeof(T));
  // memcpy must not be handed the null pointer of an empty vector.
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
T BigEndianNumber(const std::uint8_t* bytes) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>((value << 8) | bytes[i]);
  return value;
}

}  // namespace interlacer
