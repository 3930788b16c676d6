#pragma once

/// Numbers from their bytes in this machine's order, at any alignment; no bytes are no numbers.
///
/// Thread safety: any thread.

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

}  // namespace interlacer
