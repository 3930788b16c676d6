#pragma once

/// Writes the fields of one CDR message as CdrReader (data/bags/cdr.h) reads them: XCDR version 1
/// of either byte order. Source: dds-xtypes, 7.4.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace interlacer {

class CdrWriter {
 public:
  explicit CdrWriter(bool is_big_endian = false) : is_big_endian_(is_big_endian) {
    data_ = {0, static_cast<std::uint8_t>(is_big_endian ? 0 : 1), 0, 0};
  }
  template <typename T>
  CdrWriter& Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    while ((data_.size() - kHeadBytes) % sizeof(T) != 0) data_.push_back(0);
    std::uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    if (is_big_endian_) std::reverse(bytes, bytes + sizeof(T));
    data_.insert(data_.end(), bytes, bytes + sizeof(T));
    return *this;
  }
  CdrWriter& Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size() + 1));
    data_.insert(data_.end(), text.begin(), text.end());
    data_.push_back(0);
    return *this;
  }
  /// A sequence of bytes.
  CdrWriter& Bytes(std::span<const std::uint8_t> bytes) {
    Number(static_cast<std::uint32_t>(bytes.size()));
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A sequence; without its count an array.
  CdrWriter& Doubles(const std::vector<double>& values, bool has_count = true) {
    if (has_count) Number(static_cast<std::uint32_t>(values.size()));
    for (const double value : values) Number(value);
    return *this;
  }
  /// std_msgs/msg/Header. Seconds go down to the past, nanoseconds are not negative.
  CdrWriter& Header(std::int64_t time_ns, std::string_view frame) {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    const std::int64_t rest_ns = ((time_ns % kSecondNs) + kSecondNs) % kSecondNs;
    Number(static_cast<std::int32_t>((time_ns - rest_ns) / kSecondNs));
    Number(static_cast<std::uint32_t>(rest_ns));
    return Text(frame);
  }
  const std::vector<std::uint8_t>& data() const { return data_; }
  std::vector<std::uint8_t> Take() { return std::move(data_); }

 private:
  static constexpr std::size_t kHeadBytes = 4;
  std::vector<std::uint8_t> data_;
  bool is_big_endian_;
};

}  // namespace interlacer
