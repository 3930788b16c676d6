#pragma once

/// Numbers of the MCAP format and its little-endian fields; for the reader and the writer.
///
/// ByteReader never reads past its end: a field that does not fit makes it fail, for good, and is
/// zero or empty. Value types.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace interlacer::mcap {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie");

inline constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'M', 'C', 'A', 'P', '0', '\r', '\n'};

enum class Opcode : std::uint8_t {
  kHeader = 1,
  kFooter = 2,
  kSchema = 3,
  kChannel = 4,
  kMessage = 5,
  kChunk = 6,
  kMessageIndex = 7,
  kChunkIndex = 8,
  kAttachment = 9,
  kAttachmentIndex = 10,
  kStatistics = 11,
  kMetadata = 12,
  kMetadataIndex = 13,
  kSummaryOffset = 14,
  kDataEnd = 15,
};

/// Opcode and length of the content.
inline constexpr std::size_t kRecordHeadBytes = 9;
/// Channel, sequence and two times before a message's data.
inline constexpr std::size_t kMessageHeadBytes = 22;

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> data) : data_(data) {}

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    const auto bytes = Bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::span<const std::uint8_t> Bytes(std::uint64_t size) {
    if (!ok_ || size > data_.size() - offset_) {
      ok_ = false;
      return {};
    }
    const auto bytes = data_.subspan(offset_, size);
    offset_ += size;
    return bytes;
  }
  std::string Text() {
    const auto bytes = Bytes(Number<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool ok() const { return ok_; }
  std::size_t offset() const { return offset_; }
  std::size_t left() const { return data_.size() - offset_; }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t offset_ = 0;
  bool ok_ = true;
};

class ByteWriter {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
    data_.insert(data_.end(), bytes, bytes + sizeof(T));
  }
  void Bytes(std::span<const std::uint8_t> bytes) {
    data_.insert(data_.end(), bytes.begin(), bytes.end());
  }
  void Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    Bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  std::vector<std::uint8_t>& data() { return data_; }

 private:
  std::vector<std::uint8_t> data_;
};

}  // namespace interlacer::mcap
