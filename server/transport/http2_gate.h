#pragma once

/// Checks one connection of HTTP/2 (source: RFC 9113) on its way between a client and the gRPC
/// library, frame by frame; bytes in, bytes out, no sockets.
///
/// From the client only headers that RequestHeaders takes, messages of at most max_message_bytes
/// that are not compressed, headers and uploads that end within upload_timeout and max_streams
/// calls at once pass, and few that are reset before an answer; methods that send no frames have
/// small messages; a call that breaks a rule gets a status of its own and the others of the
/// connection go on. A connection that breaks the protocol itself, or sends one after another call
/// that does not begin, is told so and ends. Header blocks are written anew without references to
/// earlier ones, so that the library sees nothing of those that were refused. DATA frames are
/// joined and cut to the size that every receiver takes. From the library everything passes,
/// windows and settings of both sides too. One thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "server/transport/frame_writer.h"
#include "server/transport/header_block.h"
#include "server/transport/http2_frame.h"
#include "server/transport/message_reader.h"

namespace interlacer {

struct GateLimits {
  std::int64_t max_message_bytes = 0;
  std::chrono::steady_clock::duration upload_timeout{};
  std::size_t max_streams = 0;
};

class Http2Gate {
 public:
  using Clock = std::chrono::steady_clock;
  using Bytes = http2::Bytes;
  /// Hears of each refused call or connection.
  using OnRefusal = std::function<void(const Status&)>;

  Http2Gate(const GateLimits& limits, OnRefusal on_refusal);
  Http2Gate(const Http2Gate&) = delete;
  Http2Gate& operator=(const Http2Gate&) = delete;

  /// False when the connection must end once to_client has been sent.
  bool FromClient(Bytes bytes, Clock::time_point now);
  void FromLibrary(Bytes bytes);
  /// Refuses uploads that are over their time. False when the connection must end, as above. To be
  /// called ten times a second.
  bool Tick(Clock::time_point now);

  /// Tells the client to take another connection for its next calls; those it has made go on.
  void AskToLeave();

  /// Bytes to be sent; the owner removes what it has sent, before the next FromClient.
  std::string to_library;
  std::string to_client;

  /// Bytes of messages that are not whole yet; the library holds them.
  std::int64_t upload_bytes() const { return upload_bytes_; }
  /// Time since which the oldest of these has been under way.
  std::optional<Clock::time_point> oldest_upload() const;
  void RefuseOldestUpload();
  /// Whether a client has said that it speaks HTTP/2.
  bool has_preface() const { return preface_count_ == kPreface.size(); }
  /// Whether it waits for an answer that the device works on, of which admission lets few be at
  /// once; health watches and requests that are not whole are none.
  bool has_work() const;

 private:
  /// Pings and settings that a client may send at once, and again after each part of an answer:
  /// clients measure the line so. For each ping too many the library holds two kilobytes.
  static constexpr int kMaxEchoes = 100;
  /// Calls that may be reset before their answer begins or refused for their headers, and for how
  /// many more each tick lets: what a client sends and takes back in no time keeps the library busy
  /// for a hundred microseconds, in which it answers nobody else (CVE-2023-44487); to say what is
  /// wrong with headers takes a quarter of that. Clients may repeat those beyond.
  static constexpr int kMaxResets = 50;
  static constexpr int kResetsPerTick = 5;
  /// Header blocks that begin no call, and for how many more each tick lets: of calls that are
  /// refused, or behind such that have ended. Each takes a microsecond of all clients' time. A
  /// client that calls and cancels as fast as it can may repeat each call that is refused once and
  /// should rarely come so far.
  static constexpr int kMaxIdleBlocks = 1000;
  static constexpr int kIdleBlocksPerTick = 100;
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  /// A call that the library knows.
  struct Stream {
    MessageReader request;
    bool is_of_device = false;
    bool has_response = false;
  };

  /// All return false for a connection that must end.
  bool BeginFrame();
  bool TakePayload(Bytes bytes, Clock::time_point now);
  bool EndFrame(Clock::time_point now);
  bool EndHeadersFrame(Clock::time_point now);
  bool EndHeaderBlock(Clock::time_point now);
  bool Violation(http2::ErrorCode code, const std::string& what);

  bool EndControlFrame();
  void TakeData(Bytes bytes, Clock::time_point now);
  /// The client has sent all of its side.
  void EndUpload(std::uint32_t id, Stream* stream);
  void ReturnWindow(std::uint32_t stream, std::size_t bytes);
  /// Tells client and, if it knows the call, library that the call has ended.
  void Refuse(std::uint32_t stream, const Status& status);
  /// The call has ended without a whole answer.
  void ForgetReset(std::map<std::uint32_t, Stream>::iterator stream);
  void Forget(std::map<std::uint32_t, Stream>::iterator stream);
  /// Frames for the client wait while a frame or a header block of the library is under way.
  void SendToClient(std::string frame);
  void SendGoAway(std::uint32_t last_stream, http2::ErrorCode code, const std::string& what);
  void EndLibraryFrame();

  const GateLimits limits_;
  const OnRefusal on_refusal_;
  HeaderDecoder decoder_;
  std::size_t preface_count_ = 0;
  http2::FrameCursor client_;
  http2::FrameCursor library_;
  bool is_library_in_headers_ = false;
  /// The library's first frame, its settings, has passed.
  bool has_settings_ = false;
  bool is_asked_to_leave_ = false;
  std::string waiting_for_client_;
  /// Of the frame under way, except DATA.
  std::string payload_;
  /// First frame of a header block whose end has not come, and its bytes so far.
  std::optional<http2::Frame> open_headers_;
  Clock::time_point block_start_;
  int block_frame_count_ = 0;
  std::string block_;
  std::optional<std::size_t> pad_bytes_;
  std::uint32_t last_stream_ = 0;
  int echo_budget_ = kMaxEchoes;
  int reset_budget_ = kMaxResets;
  int idle_block_budget_ = kMaxIdleBlocks;
  std::map<std::uint32_t, Stream> streams_;
  std::int64_t upload_bytes_ = 0;
  /// Writes to to_library.
  FrameWriter library_frames_{&to_library};
};

}  // namespace interlacer
