#pragma once

/// Frames of HTTP/2 (source: RFC 9113, sections 4 and 6): their constants, reading their headers
/// piece by piece, and writing them. Value types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace interlacer::http2 {

using Bytes = std::span<const std::uint8_t>;

enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kResetStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
enum FrameFlag : std::uint8_t {
  kEndStream = 1,
  kAck = 1,  // of pings and settings
  kEndHeaders = 4,
  kPadded = 8,
  kHasPriority = 32,
};
enum ErrorCode : std::uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kFrameSizeError = 6,
  kRefusedStream = 7,
  kCancel = 8,
  kCompressionError = 9,
  kEnhanceYourCalm = 11,
};

inline constexpr std::size_t kFrameHeaderBytes = 9;
/// Every receiver takes frames of this size.
inline constexpr std::size_t kMaxFrameBytes = 16384;

struct Frame {
  std::size_t size_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;

  bool has(FrameFlag flag) const { return (flags & flag) != 0; }
};

inline std::uint32_t ReadNumber(Bytes bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

inline void AppendNumber(std::uint32_t value, int byte_count, std::string* out) {
  for (int i = byte_count - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

inline std::string FrameHeader(std::size_t size_bytes, FrameType type, int flags,
                               std::uint32_t stream) {
  std::string header;
  AppendNumber(static_cast<std::uint32_t>(size_bytes), 3, &header);
  header.push_back(static_cast<char>(type));
  header.push_back(static_cast<char>(flags));
  AppendNumber(stream, 4, &header);
  return header;
}

/// A frame whose payload is one number: RST_STREAM, WINDOW_UPDATE.
inline std::string NumberFrame(FrameType type, std::uint32_t stream, std::uint32_t value) {
  std::string frame = FrameHeader(4, type, 0, stream);
  AppendNumber(value, 4, &frame);
  return frame;
}

/// Collects the header of a frame, then counts its payload.
struct FrameCursor {
  std::array<std::uint8_t, kFrameHeaderBytes> header{};
  std::size_t header_count = 0;
  Frame frame;
  std::size_t left_bytes = 0;

  bool has_header() const { return header_count == kFrameHeaderBytes; }
  /// Takes bytes from the front; true once the header is whole.
  bool ReadHeader(Bytes* bytes) {
    const std::size_t count = std::min(kFrameHeaderBytes - header_count, bytes->size());
    std::copy_n(bytes->begin(), count, header.begin() + static_cast<std::ptrdiff_t>(header_count));
    header_count += count;
    *bytes = bytes->subspan(count);
    if (!has_header()) return false;
    const Bytes whole = header;
    frame = {ReadNumber(whole.first(3)), whole[3], whole[4],
             ReadNumber(whole.subspan(5)) & 0x7fffffffu};
    left_bytes = frame.size_bytes;
    return true;
  }
};

}  // namespace interlacer::http2
