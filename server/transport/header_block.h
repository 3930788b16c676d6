#pragma once

/// Reads header blocks of HTTP/2 (source: RFC 7541) through libnghttp2, whose only user this is,
/// and writes such that refer to no earlier block.
///
/// A decoder belongs to one direction of one connection and must see every block. Not thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct nghttp2_hd_inflater;

namespace interlacer {

class HeaderDecoder {
 public:
  using Visit = std::function<void(std::string_view name, std::string_view value)>;

  HeaderDecoder();

  /// Calls `visit` for each field in order. False when the block is malformed, after which the
  /// connection cannot go on.
  bool Decode(std::span<const std::uint8_t> block, const Visit& visit);

 private:
  struct Delete {
    void operator()(nghttp2_hd_inflater* inflater) const;
  };
  std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
};

/// Appends a field in the form that changes no table of the reader.
void AppendHeaderField(std::string_view name, std::string_view value, std::string* block);

}  // namespace interlacer
