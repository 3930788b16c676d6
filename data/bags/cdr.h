#pragma once

/// Reads the fields of one CDR message as ROS 2 writes it: XCDR version 1 of either byte order.
///
/// A field that does not fit makes the reader fail, for good, and is zero or empty; counts are
/// compared with the bytes that are left before anything is allocated. Fields are aligned to their
/// size from the end of the four bytes of the head. Source: dds-xtypes, 7.4.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace interlacer {

class CdrReader {
 public:
  explicit CdrReader(std::span<const std::uint8_t> message) {
    constexpr std::size_t kHeadBytes = 4;
    ok_ = message.size() >= kHeadBytes && message[0] == 0 && message[1] <= 1;
    if (!ok_) return;
    is_swapped_ = (message[1] == 1) != (std::endian::native == std::endian::little);
    data_ = message.subspan(kHeadBytes);
  }

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    Align(sizeof(T));
    std::uint8_t bytes[sizeof(T)] = {};
    const auto field = Bytes(sizeof(T));
    for (std::size_t i = 0; i < field.size(); ++i) {
      bytes[is_swapped_ ? sizeof(T) - 1 - i : i] = field[i];
    }
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  std::string Text() {
    auto bytes = Bytes(Number<std::uint32_t>());
    if (!bytes.empty() && bytes.back() == 0) bytes = bytes.first(bytes.size() - 1);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// A sequence of bytes.
  std::span<const std::uint8_t> ByteSequence() { return Bytes(Number<std::uint32_t>()); }
  std::vector<double> Doubles() {
    std::vector<double> values(Count(sizeof(double)));
    for (double& value : values) value = Number<double>();
    return values;
  }
  template <std::size_t kCount>
  void Doubles(std::array<double, kCount>* values) {
    for (double& value : *values) value = Number<double>();
  }
  /// Elements of a sequence, each of `least_bytes` or more.
  std::size_t Count(std::size_t least_bytes) {
    const std::size_t count = Number<std::uint32_t>();
    if (!ok_ || count > (data_.size() - offset_) / least_bytes) {
      ok_ = false;
      return 0;
    }
    return count;
  }
  bool ok() const { return ok_; }

 private:
  void Align(std::size_t size) { Bytes((size - offset_ % size) % size); }
  std::span<const std::uint8_t> Bytes(std::size_t size) {
    if (!ok_ || size > data_.size() - offset_) {
      ok_ = false;
      return {};
    }
    const auto bytes = data_.subspan(offset_, size);
    offset_ += size;
    return bytes;
  }

  std::span<const std::uint8_t> data_;
  std::size_t offset_ = 0;
  bool ok_ = false;
  bool is_swapped_ = false;
};

}  // namespace interlacer
