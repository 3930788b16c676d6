#pragma once

/// Decodes header blocks of HTTP/2 (source: RFC 7541), and writes such that need no state.
///
/// A decoder belongs to one direction of one connection, because blocks refer to earlier ones; it
/// must see every block. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace interlacer {

class HpackDecoder {
 public:
  using Visit = std::function<void(std::string_view name, std::string_view value)>;

  /// Calls `visit` for each field in order. False when the block is malformed, after which the
  /// connection cannot go on.
  bool Decode(std::span<const std::uint8_t> block, const Visit& visit);

 private:
  struct Field {
    std::string name;
    std::string value;
  };

  /// The field of an index, of the static table or of the own one; null beyond both.
  const Field* Find(std::uint64_t index) const;
  bool ReadName(std::uint64_t index, std::span<const std::uint8_t>* block, std::string* name) const;
  void Insert(Field field);
  void Shrink(std::size_t max_bytes);

  /// The newest field first.
  std::deque<Field> table_;
  std::size_t table_bytes_ = 0;
  std::size_t max_table_bytes_ = kMaxTableBytes;

  /// The size that applies unless the receiver announces another one, which gRPC does not.
  static constexpr std::size_t kMaxTableBytes = 4096;
};

/// Appends a field without reference to any table.
void AppendHeaderField(std::string_view name, std::string_view value, std::string* block);

}  // namespace interlacer
