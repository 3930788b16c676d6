#include "server/transport/http2_gate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/transport/request_headers.h"

namespace interlacer {
namespace {

using http2::AppendNumber;
using http2::Bytes;
using http2::Frame;
using http2::FrameHeader;
using http2::kMaxFrameBytes;
using http2::NumberFrame;

constexpr std::size_t kPriorityBytes = 5;
constexpr std::size_t kMaxHeaderBlockBytes = 64 << 10;
/// Frames may be empty, so that bytes alone bound nothing.
constexpr int kMaxHeaderBlockFrames = 64;
/// Of methods that do not send frames to the device.
constexpr std::int64_t kMaxSmallMessageBytes = 64 << 10;
constexpr std::string_view kService = "/interlacer.v1.InterlacerService/";
constexpr std::array<std::string_view, 5> kDeviceMethods = {
    "ValidateScene", "PredictRollout", "PredictCandidates", "CreateScene", "UpdateScene"};

Bytes BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bool IsOfDevice(std::string_view path) {
  if (!path.starts_with(kService)) return false;
  path.remove_prefix(kService.size());
  return std::find(kDeviceMethods.begin(), kDeviceMethods.end(), path) != kDeviceMethods.end();
}

}  // namespace

Http2Gate::Http2Gate(const GateLimits& limits, OnRefusal on_refusal)
    : limits_(limits), on_refusal_(std::move(on_refusal)) {}

bool Http2Gate::FromClient(Bytes bytes, Clock::time_point now) {
  library_frames_.Close();  // the owner may have sent the frame
  const std::size_t preface_bytes = std::min(kPreface.size() - preface_count_, bytes.size());
  for (std::size_t i = 0; i < preface_bytes; ++i) {
    if (bytes[i] != static_cast<std::uint8_t>(kPreface[preface_count_ + i])) return false;
  }
  library_frames_.Raw(kPreface.substr(preface_count_, preface_bytes));
  preface_count_ += preface_bytes;
  bytes = bytes.subspan(preface_bytes);
  while (!bytes.empty()) {
    if (!client_.has_header()) {
      if (!client_.ReadHeader(&bytes)) return true;
      if (!BeginFrame()) return false;
    }
    const Bytes part = bytes.first(std::min(client_.left_bytes, bytes.size()));
    if (!TakePayload(part, now)) return false;
    bytes = bytes.subspan(part.size());
    client_.left_bytes -= part.size();
    if (client_.left_bytes > 0) continue;
    client_.header_count = 0;
    if (!EndFrame(now)) return false;
  }
  return true;
}

bool Http2Gate::BeginFrame() {
  const Frame& frame = client_.frame;
  const bool is_continuation = frame.type == http2::kContinuation;
  if (open_headers_.has_value() != is_continuation ||
      (is_continuation && frame.stream != open_headers_->stream)) {
    return Violation(http2::kProtocolError, "frames between the parts of a header block");
  }
  payload_.clear();
  pad_bytes_.reset();
  switch (frame.type) {
    case http2::kData:
      return frame.stream != 0 || Violation(http2::kProtocolError, "DATA of no stream");
    case http2::kHeaders:
    case http2::kContinuation:
      block_frame_count_ = is_continuation ? block_frame_count_ + 1 : 1;
      return (block_.size() + frame.size_bytes <= kMaxHeaderBlockBytes &&
              block_frame_count_ <= kMaxHeaderBlockFrames) ||
             Violation(http2::kEnhanceYourCalm, "a header block is too large");
    case http2::kPushPromise:
      return Violation(http2::kProtocolError, "a client cannot push");
    default:
      return frame.size_bytes <= kMaxFrameBytes ||
             Violation(http2::kFrameSizeError, "a frame is too large");
  }
}

bool Http2Gate::TakePayload(Bytes bytes, Clock::time_point now) {
  if (client_.frame.type != http2::kData) {
    payload_.append(bytes.begin(), bytes.end());
    return true;
  }
  const std::uint32_t stream = client_.frame.stream;
  std::size_t left_bytes = client_.left_bytes;
  if (client_.frame.has(http2::kPadded)) {
    if (!pad_bytes_) {
      if (bytes.empty()) {
        return left_bytes > 0 || Violation(http2::kProtocolError, "padding without its length");
      }
      pad_bytes_ = bytes.front();
      if (*pad_bytes_ >= left_bytes) {
        return Violation(http2::kProtocolError, "more padding than frame");
      }
      bytes = bytes.subspan(1);
      --left_bytes;
      ReturnWindow(stream, 1);
    }
    const std::size_t data_bytes =
        std::min(bytes.size(), left_bytes - std::min(left_bytes, *pad_bytes_));
    ReturnWindow(stream, bytes.size() - data_bytes);
    bytes = bytes.first(data_bytes);
  }
  if (!bytes.empty()) TakeData(bytes, now);
  return true;
}

void Http2Gate::TakeData(Bytes bytes, Clock::time_point now) {
  const std::uint32_t id = client_.frame.stream;
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.request.is_ended()) {
    // The call has ended, and the library will never account for these bytes.
    return ReturnWindow(0, bytes.size());
  }
  MessageReader& request = it->second.request;
  const std::int64_t before = request.waiting_bytes();
  const std::int64_t max_bytes = it->second.is_of_device
                                     ? limits_.max_message_bytes
                                     : std::min(limits_.max_message_bytes, kMaxSmallMessageBytes);
  const Status status = request.Read(bytes, now, max_bytes);
  upload_bytes_ += request.waiting_bytes() - before;
  if (!status.ok()) {
    ReturnWindow(0, bytes.size());
    return Refuse(id, status);
  }
  library_frames_.Data(id, bytes, /*is_end=*/false);
}

bool Http2Gate::EndFrame(Clock::time_point now) {
  const Frame& frame = client_.frame;
  switch (frame.type) {
    case http2::kData: {
      const auto it = streams_.find(frame.stream);
      const bool is_end = frame.has(http2::kEndStream);
      if (is_end && it != streams_.end() && !it->second.request.is_ended()) {
        EndUpload(frame.stream, &it->second);
      }
      return true;
    }
    case http2::kHeaders:
      if (!EndHeadersFrame(now)) return false;
      break;
    case http2::kContinuation:
      block_ += payload_;
      break;
    default:
      return EndControlFrame();
  }
  return !frame.has(http2::kEndHeaders) || EndHeaderBlock(now);
}

bool Http2Gate::EndControlFrame() {
  const Frame& frame = client_.frame;
  const auto stream = streams_.find(frame.stream);
  switch (frame.type) {
    case http2::kResetStream:
      if (stream == streams_.end()) return true;
      ForgetReset(stream);
      break;
    case http2::kWindowUpdate:
      if (frame.stream != 0 && stream == streams_.end()) return true;
      break;
    case http2::kSettings:
    case http2::kPing:
      if (!frame.has(http2::kAck) && --echo_budget_ < 0) {
        return Violation(http2::kEnhanceYourCalm, "too many pings or settings");
      }
      break;
    case http2::kGoAway:
      break;
    default:  // priorities and extensions, which the library does not use
      return true;
  }
  library_frames_.Raw(
      {reinterpret_cast<const char*>(client_.header.data()), client_.header.size()});
  library_frames_.Raw(payload_);
  return true;
}

bool Http2Gate::EndHeadersFrame(Clock::time_point now) {
  open_headers_ = client_.frame;
  block_start_ = now;
  Bytes block = BytesOf(payload_);
  std::size_t pad_bytes = 0;
  if (open_headers_->has(http2::kPadded)) {
    if (block.empty()) return Violation(http2::kProtocolError, "padding without its length");
    pad_bytes = block.front();
    block = block.subspan(1);
  }
  const std::size_t skipped = open_headers_->has(http2::kHasPriority) ? kPriorityBytes : 0;
  if (skipped + pad_bytes > block.size()) {
    return Violation(http2::kProtocolError, "more padding than frame");
  }
  block = block.subspan(skipped, block.size() - skipped - pad_bytes);
  block_.assign(block.begin(), block.end());
  return true;
}

bool Http2Gate::EndHeaderBlock(Clock::time_point now) {
  const Frame frame = *std::exchange(open_headers_, std::nullopt);
  const std::string block = std::exchange(block_, {});
  const auto known = streams_.find(frame.stream);
  const bool is_new = known == streams_.end() && frame.stream > last_stream_;
  const bool is_let_in = is_new && streams_.size() < limits_.max_streams && reset_budget_ > 0;
  RequestHeaders headers;
  // The decoder must see every block. Its fields, a few bytes of which may stand for kilobytes, are
  // looked at only where the call may begin.
  const bool is_decoded =
      decoder_.Decode(BytesOf(block), [&](std::string_view name, std::string_view value) {
        if (is_let_in) headers.Add(name, value);
      });
  if (!is_decoded) {
    return Violation(http2::kCompressionError, "a header block cannot be decoded");
  }
  const bool is_end = frame.has(http2::kEndStream);
  if (known != streams_.end()) {  // trailers
    if (!is_end || known->second.request.is_ended()) {
      return Violation(http2::kProtocolError, "headers in the middle of a call");
    }
    EndUpload(frame.stream, &known->second);
    return true;
  }
  if (frame.stream % 2 == 0) return Violation(http2::kProtocolError, "an even stream");
  const bool begins = is_let_in && headers.status().ok();
  if (!begins && --idle_block_budget_ < 0) {
    return Violation(http2::kEnhanceYourCalm, "too many headers of calls that do not begin");
  }
  if (!is_new) return true;  // trailers of a call that has ended
  last_stream_ = frame.stream;
  if (!is_let_in) {
    // Clients begin before they know the limit and may repeat a call that was refused so.
    SendToClient(NumberFrame(http2::kResetStream, frame.stream, http2::kRefusedStream));
    return true;
  }
  if (!begins) {
    --reset_budget_;
    Refuse(frame.stream, headers.status());
    return true;
  }
  Stream& stream =
      streams_.try_emplace(frame.stream, Stream{MessageReader(now), IsOfDevice(headers.path())})
          .first->second;
  if (is_end) stream.request.End();
  library_frames_.Headers(frame.stream, headers.block(), is_end);
  return true;
}

void Http2Gate::EndUpload(std::uint32_t id, Stream* stream) {
  library_frames_.Data(id, {}, /*is_end=*/true);
  upload_bytes_ -= stream->request.waiting_bytes();
  stream->request.End();
}

void Http2Gate::ReturnWindow(std::uint32_t stream, std::size_t bytes) {
  if (bytes == 0) return;
  const auto count = static_cast<std::uint32_t>(bytes);
  SendToClient(NumberFrame(http2::kWindowUpdate, 0, count));
  if (stream == 0 || streams_.count(stream) == 0) return;
  SendToClient(NumberFrame(http2::kWindowUpdate, stream, count));
}

void Http2Gate::Refuse(std::uint32_t id, const Status& status) {
  on_refusal_(status);
  if (const auto it = streams_.find(id); it != streams_.end()) {
    library_frames_.Raw(NumberFrame(http2::kResetStream, id, http2::kCancel));
    const bool may_be_answered = it->second.request.has_message() || it->second.has_response;
    ForgetReset(it);
    if (may_be_answered) {
      return SendToClient(NumberFrame(http2::kResetStream, id, http2::kEnhanceYourCalm));
    }
  }
  const std::string block = StatusBlock(status);
  SendToClient(
      FrameHeader(block.size(), http2::kHeaders, http2::kEndHeaders | http2::kEndStream, id) +
      block + NumberFrame(http2::kResetStream, id, http2::kNoError));
}

bool Http2Gate::Violation(http2::ErrorCode code, const std::string& what) {
  SendGoAway(last_stream_, code, what);
  on_refusal_(InvalidArgument(reason::ARGUMENT_INVALID, what));
  return false;
}

void Http2Gate::SendGoAway(std::uint32_t last_stream, http2::ErrorCode code,
                           const std::string& what) {
  std::string frame = FrameHeader(8 + what.size(), http2::kGoAway, 0, 0);
  AppendNumber(last_stream, 4, &frame);
  AppendNumber(code, 4, &frame);
  SendToClient(frame + what);
}

void Http2Gate::AskToLeave() {
  constexpr std::uint32_t kAllStreams = 0x7fffffff;
  // A client must hear the settings first.
  if (!std::exchange(is_asked_to_leave_, true) && has_settings_) {
    SendGoAway(kAllStreams, http2::kNoError, "draining");
  }
}

void Http2Gate::ForgetReset(std::map<std::uint32_t, Stream>::iterator stream) {
  if (!stream->second.has_response) --reset_budget_;
  Forget(stream);
}

void Http2Gate::Forget(std::map<std::uint32_t, Stream>::iterator stream) {
  upload_bytes_ -= stream->second.request.waiting_bytes();
  streams_.erase(stream);
}

void Http2Gate::SendToClient(std::string frame) {
  const bool must_wait = library_.header_count > 0 || is_library_in_headers_;
  (must_wait ? waiting_for_client_ : to_client) += frame;
}

void Http2Gate::FromLibrary(Bytes bytes) {
  while (!bytes.empty()) {
    if (!library_.has_header()) {
      if (!library_.ReadHeader(&bytes)) return;
      to_client.append(library_.header.begin(), library_.header.end());
    }
    const Bytes part = bytes.first(std::min(library_.left_bytes, bytes.size()));
    to_client.append(part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    library_.left_bytes -= part.size();
    if (library_.left_bytes > 0) continue;
    library_.header_count = 0;
    EndLibraryFrame();
  }
}

void Http2Gate::EndLibraryFrame() {
  const Frame& frame = library_.frame;
  const bool is_block = frame.type == http2::kHeaders || frame.type == http2::kContinuation;
  is_library_in_headers_ = is_block && !frame.has(http2::kEndHeaders);
  if (!is_library_in_headers_) to_client += std::exchange(waiting_for_client_, {});
  if (!std::exchange(has_settings_, true) && std::exchange(is_asked_to_leave_, false)) AskToLeave();
  if (is_block || frame.type == http2::kData) echo_budget_ = kMaxEchoes;
  const auto stream = streams_.find(frame.stream);
  if (stream == streams_.end()) return;
  stream->second.has_response |= frame.type == http2::kHeaders;
  const bool may_end = frame.type == http2::kData || frame.type == http2::kHeaders;
  if (frame.type == http2::kResetStream) {
    ForgetReset(stream);
  } else if (may_end && frame.has(http2::kEndStream)) {
    Forget(stream);
  }
}

bool Http2Gate::Tick(Clock::time_point now) {
  if (open_headers_ && now >= block_start_ + limits_.upload_timeout) {
    return Violation(http2::kEnhanceYourCalm, "a header block takes too long");
  }
  echo_budget_ = std::min(echo_budget_ + 1, kMaxEchoes);
  reset_budget_ = std::min(reset_budget_ + kResetsPerTick, kMaxResets);
  idle_block_budget_ = std::min(idle_block_budget_ + kIdleBlocksPerTick, kMaxIdleBlocks);
  while (const auto oldest = oldest_upload()) {
    if (now < *oldest + limits_.upload_timeout) break;
    RefuseOldestUpload();
  }
  return true;
}

bool Http2Gate::has_work() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) {
    return stream.second.is_of_device && stream.second.request.has_message();
  });
}

std::optional<Http2Gate::Clock::time_point> Http2Gate::oldest_upload() const {
  std::optional<Clock::time_point> oldest;
  for (const auto& [id, stream] : streams_) {
    const MessageReader& request = stream.request;
    if (request.is_uploading() && (!oldest || request.start() < *oldest)) oldest = request.start();
  }
  return oldest;
}

void Http2Gate::RefuseOldestUpload() {
  const auto oldest = oldest_upload();
  if (!oldest) return;
  for (const auto& [id, stream] : streams_) {
    if (!stream.request.is_uploading() || stream.request.start() != *oldest) continue;
    return Refuse(id, DeadlineExceeded(reason::CALL_TOO_LONG,
                                       "the request took too long to arrive (--upload-timeout), or "
                                       "too many others arrive at the same time"));
  }
}

}  // namespace interlacer
