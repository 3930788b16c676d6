#pragma once

/// A client of HTTP/2 that may break every rule, for servers of this process.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/transport/header_block.h"
#include "tests/support/connect_to_loopback.h"

namespace interlacer::testing {

inline std::string BigEndian(std::uint32_t value, int byte_count) {
  std::string bytes;
  for (int i = byte_count - 1; i >= 0; --i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

inline std::string Http2Frame(int type, int flags, std::uint32_t stream,
                              const std::string& payload) {
  return BigEndian(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + BigEndian(stream, 4) + payload;
}

/// The bytes before a message, which say that it is not compressed and how long it is.
inline std::string MessagePrefix(std::uint32_t size_bytes) {
  return std::string(1, '\0') + BigEndian(size_bytes, 4);
}

using HeaderList = std::vector<std::pair<std::string, std::string>>;

inline std::string HeaderBlock(const std::string& path, const HeaderList& extra = {}) {
  std::string block;
  for (const auto& [name, value] : HeaderList{{":method", "POST"},
                                              {":scheme", "http"},
                                              {":path", path},
                                              {":authority", "localhost"},
                                              {"content-type", "application/grpc"},
                                              {"te", "trailers"}}) {
    AppendHeaderField(name, value, &block);
  }
  for (const auto& [name, value] : extra) AppendHeaderField(name, value, &block);
  return block;
}

constexpr char kHttp2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr char kServicePath[] = "/interlacer.v1.InterlacerService/";

class RawHttp2 {
 public:
  static constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7,
                       kWindowUpdate = 8;
  static constexpr int kEndStream = 1, kEndHeaders = 4;

  struct Stream {
    HeaderList headers;
    std::size_t data_bytes = 0;
    bool has_ended = false;
    std::optional<std::uint32_t> reset_code;
    bool is_over() const { return has_ended || reset_code.has_value(); }
  };

  /// A window of 0 means that the server may send no bytes of a message.
  explicit RawHttp2(int port, std::uint32_t initial_window = 65535) : fd_(ConnectToLoopback(port)) {
    Write(kHttp2Preface +
          Http2Frame(kSettings, 0, 0, BigEndian(4, 2) + BigEndian(initial_window, 4)));
  }
  ~RawHttp2() { close(fd_); }
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  /// False when the server has closed the connection.
  bool Write(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  std::uint32_t Open(const std::string& path, const HeaderList& extra = {}, bool is_end = false) {
    const std::uint32_t id = next_stream_;
    next_stream_ += 2;
    streams_[id];
    Write(Http2Frame(kHeaders, kEndHeaders | (is_end ? kEndStream : 0), id,
                     HeaderBlock(path, extra)));
    return id;
  }
  /// Regardless of windows: at most the 65535 bytes that each stream may send at first.
  void Data(std::uint32_t stream, const std::string& bytes, bool is_end = false) {
    constexpr std::size_t kFrameBytes = 16384;
    std::size_t begin = 0;
    do {
      const std::string part = bytes.substr(begin, kFrameBytes);
      begin += part.size();
      const bool is_last = begin >= bytes.size();
      Write(Http2Frame(kData, is_last && is_end ? kEndStream : 0, stream, part));
    } while (begin < bytes.size());
  }
  void GiveWindow(std::uint32_t stream, std::uint32_t bytes) {
    Write(Http2Frame(kWindowUpdate, 0, stream, BigEndian(bytes, 4)));
  }

  /// Reads until the condition holds; false when time is over or the connection is closed.
  bool ReadUntil(const std::function<bool()>& condition, double timeout_s = 5) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    while (!condition()) {
      if (is_closed_ || std::chrono::steady_clock::now() > limit) return false;
      ReadSome();
    }
    return true;
  }
  bool WaitForEnd(std::uint32_t stream, double timeout_s = 5) {
    return ReadUntil([&] { return streams_[stream].is_over(); }, timeout_s);
  }

  Stream& stream(std::uint32_t id) { return streams_[id]; }
  std::string Header(std::uint32_t id, const std::string& name) {
    for (const auto& [key, value] : streams_[id].headers) {
      if (key == name) return value;
    }
    return "";
  }
  bool is_closed() const { return is_closed_; }
  bool has_goaway() const { return has_goaway_; }

 private:
  void ReadSome() {
    pollfd entry{fd_, POLLIN, 0};
    if (poll(&entry, 1, 20) <= 0) return;
    char buffer[1 << 16];
    const ssize_t count = recv(fd_, buffer, sizeof(buffer), 0);
    if (count <= 0) {
      is_closed_ = true;
      return;
    }
    inbox_.append(buffer, static_cast<std::size_t>(count));
    while (inbox_.size() >= 9) {
      const std::size_t size = Number(0, 3);
      if (inbox_.size() < 9 + size) return;
      const std::string frame = inbox_.substr(0, 9 + size);
      const auto id = static_cast<std::uint32_t>(Number(5, 4) & 0x7fffffff);
      inbox_.erase(0, 9 + size);
      TakeFrame(frame[3], frame[4], id, frame.substr(9));
    }
  }
  std::size_t Number(std::size_t at, std::size_t byte_count) const {
    std::size_t value = 0;
    for (std::size_t i = 0; i < byte_count; ++i) {
      value = value << 8 | static_cast<std::uint8_t>(inbox_[at + i]);
    }
    return value;
  }
  void TakeFrame(int type, int flags, std::uint32_t id, const std::string& payload) {
    const auto number = [&] {
      std::uint32_t value = 0;
      for (const char c : payload.substr(0, 4)) value = value << 8 | static_cast<std::uint8_t>(c);
      return value;
    };
    switch (type) {
      case kData:
        streams_[id].data_bytes += payload.size();
        streams_[id].has_ended |= (flags & kEndStream) != 0;
        break;
      case kHeaders:
        EXPECT_TRUE(
            decoder_.Decode({reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()},
                            [&](std::string_view name, std::string_view value) {
                              streams_[id].headers.emplace_back(name, value);
                            }));
        streams_[id].has_ended |= (flags & kEndStream) != 0;
        break;
      case kReset:
        streams_[id].reset_code = number();
        break;
      case kSettings:
        if ((flags & 1) == 0) Write(Http2Frame(kSettings, 1, 0, ""));
        break;
      case kPing:
        if ((flags & 1) == 0) Write(Http2Frame(kPing, 1, 0, payload));
        break;
      case kGoAway:
        has_goaway_ = true;
        break;
      default:
        break;
    }
  }

  const int fd_;
  std::uint32_t next_stream_ = 1;
  std::map<std::uint32_t, Stream> streams_;
  HeaderDecoder decoder_;
  std::string inbox_;
  bool is_closed_ = false;
  bool has_goaway_ = false;
};

}  // namespace interlacer::testing
