#include "server/transport/http2_gate.h"

#include <algorithm>
#include <utility>

#include "server/convert/grpc_status.h"

namespace interlacer {
namespace {

using Bytes = Http2Gate::Bytes;

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
  kEndHeaders = 4,
  kPadded = 8,
  kHasPriority = 32,
};
enum ErrorCode : std::uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kFrameSizeError = 6,
  kCancel = 8,
  kCompressionError = 9,
  kEnhanceYourCalm = 11,
};

constexpr std::size_t kPriorityBytes = 5;
/// Every receiver takes frames of this size.
constexpr std::size_t kMaxFrameBytes = 16384;
constexpr std::size_t kMaxHeaderBlockBytes = 64 << 10;
/// Of the decoded fields; the library's own limit is 8 KiB and comes after this one.
constexpr std::size_t kMaxHeaderListBytes = 32 << 10;
constexpr std::size_t kMaxOpenStreams = 256;

void AppendNumber(std::uint32_t value, int byte_count, std::string* out) {
  for (int i = byte_count - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

std::uint32_t ReadNumber(Bytes bytes) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

std::string FrameHeader(std::size_t size_bytes, FrameType type, int flags, std::uint32_t stream) {
  std::string header;
  AppendNumber(static_cast<std::uint32_t>(size_bytes), 3, &header);
  header.push_back(static_cast<char>(type));
  header.push_back(static_cast<char>(flags));
  AppendNumber(stream, 4, &header);
  return header;
}

std::string NumberFrame(FrameType type, std::uint32_t stream, std::uint32_t value) {
  std::string frame = FrameHeader(4, type, 0, stream);
  AppendNumber(value, 4, &frame);
  return frame;
}

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t value = 0;
  int bits = 0;
  for (const char c : bytes) {
    value = value << 8 | static_cast<std::uint8_t>(c);
    for (bits += 8; bits >= 6; bits -= 6) text.push_back(kDigits[value >> (bits - 6) & 63]);
  }
  if (bits > 0) text.push_back(kDigits[value << (6 - bits) & 63]);
  return text;
}

bool IsBase64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return text.size() % 4 != 1 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '+' || c == '/';
         });
}

bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  if (name.starts_with(':')) name.remove_prefix(1);
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool IsPrintable(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

/// What is wrong with a field, or "".
std::string FieldError(std::string_view name, std::string_view value) {
  if (!IsHeaderName(name)) return "a header's name has other characters than a-z 0-9 and marks";
  if (!IsPrintable(value)) return "a header has characters that are not printable";
  if (name.ends_with("-bin") && !IsBase64(value)) return "a binary header is not base64";
  if (name == "te" && value != "trailers") return "te: expected trailers";
  if (name == ":scheme" && value != "http" && value != "https") {
    return ":scheme: expected http or https";
  }
  return "";
}

/// Meant for load balancers; the library reads it in a form of its own.
bool IsDropped(std::string_view name) { return name == "grpclb_client_stats"; }

/// The status of a call that has sent nothing yet, as the last header block of an answer.
std::string StatusHeaders(const Status& status) {
  const grpc::Status converted = ToGrpcStatus(status);
  std::string block;
  AppendHeaderField(":status", "200", &block);
  AppendHeaderField("content-type", "application/grpc", &block);
  AppendHeaderField("grpc-status", std::to_string(converted.error_code()), &block);
  std::string message;
  for (const char c : converted.error_message())
    message += c == '%' ? std::string("%25") : std::string(1, c);
  AppendHeaderField("grpc-message", message, &block);
  AppendHeaderField("grpc-status-details-bin", Base64(converted.error_details()), &block);
  return block;
}

}  // namespace

bool Http2Gate::Cursor::ReadHeader(Bytes* bytes) {
  const std::size_t count = std::min(kFrameHeaderBytes - header_count, bytes->size());
  std::copy_n(bytes->begin(), count, header.begin() + header_count);
  header_count += count;
  *bytes = bytes->subspan(count);
  if (header_count < kFrameHeaderBytes) return false;
  const Bytes whole = header;
  frame = {ReadNumber(whole.first(3)), whole[3], whole[4],
           ReadNumber(whole.subspan(5)) & 0x7fffffffu};
  left_bytes = frame.size_bytes;
  return true;
}

Http2Gate::Http2Gate(const GateLimits& limits, OnRefusal on_refusal)
    : limits_(limits), on_refusal_(std::move(on_refusal)) {}

bool Http2Gate::FromClient(Bytes bytes, Clock::time_point now) {
  open_data_.reset();  // the owner may have sent the frame
  const std::size_t preface_bytes = std::min(kPreface.size() - preface_count_, bytes.size());
  for (std::size_t i = 0; i < preface_bytes; ++i) {
    if (bytes[i] != static_cast<std::uint8_t>(kPreface[preface_count_ + i])) return false;
  }
  to_library.append(kPreface.substr(preface_count_, preface_bytes));
  preface_count_ += preface_bytes;
  bytes = bytes.subspan(preface_bytes);
  while (!bytes.empty()) {
    if (client_.header_count < kFrameHeaderBytes) {
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
  const bool is_continuation = frame.type == kContinuation;
  if (open_headers_.has_value() != is_continuation ||
      (is_continuation && frame.stream != open_headers_->stream)) {
    return Violation(kProtocolError, "frames between the parts of a header block");
  }
  if (!is_continuation) payload_.clear();
  pad_bytes_.reset();
  switch (frame.type) {
    case kData:
      if (frame.stream == 0) return Violation(kProtocolError, "DATA of no stream");
      return true;
    case kHeaders:
    case kContinuation:
      if (payload_.size() + frame.size_bytes <= kMaxHeaderBlockBytes) return true;
      return Violation(kEnhanceYourCalm, "a header block is too large");
    case kPushPromise:
      return Violation(kProtocolError, "a client cannot push");
    default:
      if (frame.size_bytes <= kMaxFrameBytes) return true;
      return Violation(kFrameSizeError, "a frame is too large");
  }
}

bool Http2Gate::TakePayload(Bytes bytes, Clock::time_point now) {
  if (client_.frame.type != kData) {
    payload_.append(bytes.begin(), bytes.end());
    return true;
  }
  const std::uint32_t stream = client_.frame.stream;
  std::size_t left_bytes = client_.left_bytes;
  if ((client_.frame.flags & kPadded) != 0) {
    if (!pad_bytes_) {
      if (bytes.empty()) {
        return left_bytes > 0 || Violation(kProtocolError, "padding without its length");
      }
      pad_bytes_ = bytes.front();
      if (*pad_bytes_ >= left_bytes) return Violation(kProtocolError, "more padding than frame");
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
  if (it == streams_.end() || it->second.is_client_done) {
    // The call has ended, and the library will never account for these bytes.
    return ReturnWindow(0, bytes.size());
  }
  Stream& stream = it->second;
  const std::int64_t before = stream.received_bytes;
  const Status status = ReadMessageBytes(bytes, now, &stream);
  upload_bytes_ += stream.received_bytes - before;
  if (!status.ok()) {
    ReturnWindow(0, bytes.size());
    return Refuse(id, status);
  }
  AppendData(id, bytes, /*is_end=*/false);
}

Status Http2Gate::ReadMessageBytes(Bytes bytes, Clock::time_point now, Stream* stream) const {
  while (!bytes.empty()) {
    if (stream->prefix_count < kMessagePrefixBytes) {
      if (stream->prefix_count == 0 && stream->has_message) stream->start = now;
      stream->prefix[stream->prefix_count++] = bytes.front();
      ++stream->received_bytes;
      bytes = bytes.subspan(1);
      if (stream->prefix_count < kMessagePrefixBytes) continue;
      if (stream->prefix[0] != 0) {
        return Unimplemented(reason::FEATURE_NOT_BUILT, "this server takes no compressed messages");
      }
      stream->left_bytes = ReadNumber(Bytes(stream->prefix).subspan(1));
      if (stream->left_bytes > limits_.max_message_bytes) {
        return ResourceExhausted(reason::HOST_MEMORY, "a message of " +
                                                          std::to_string(stream->left_bytes) +
                                                          " bytes is larger than the limit of " +
                                                          std::to_string(limits_.max_message_bytes))
            .WithMetadata("got", std::to_string(stream->left_bytes))
            .WithMetadata("limit", std::to_string(limits_.max_message_bytes));
      }
    }
    const auto count = std::min<std::int64_t>(stream->left_bytes, std::ssize(bytes));
    stream->left_bytes -= count;
    stream->received_bytes += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    if (stream->left_bytes > 0) continue;
    stream->has_message = true;
    stream->prefix_count = 0;
    stream->received_bytes = 0;
  }
  return Status::Ok();
}

bool Http2Gate::EndFrame(Clock::time_point now) {
  const Frame& frame = client_.frame;
  switch (frame.type) {
    case kData: {
      const auto it = streams_.find(frame.stream);
      if ((frame.flags & kEndStream) == 0 || it == streams_.end() || it->second.is_client_done) {
        return true;
      }
      AppendData(frame.stream, {}, /*is_end=*/true);
      it->second.is_client_done = true;
      upload_bytes_ -= std::exchange(it->second.received_bytes, 0);
      return true;
    }
    case kHeaders:
    case kContinuation:
      if (frame.type == kHeaders) open_headers_ = frame;
      return (frame.flags & kEndHeaders) == 0 || EndHeaders(now);
    default:
      return EndControlFrame();
  }
}

bool Http2Gate::EndControlFrame() {
  const Frame& frame = client_.frame;
  const auto stream = streams_.find(frame.stream);
  switch (frame.type) {
    case kResetStream:
      if (stream == streams_.end()) return true;
      Forget(stream);
      break;
    case kWindowUpdate:
      if (frame.stream != 0 && stream == streams_.end()) return true;
      break;
    case kSettings:
    case kPing:
    case kGoAway:
      break;
    default:  // priorities and extensions, which the library does not use
      return true;
  }
  open_data_.reset();
  to_library.append(client_.header.begin(), client_.header.end());
  to_library += payload_;
  return true;
}

bool Http2Gate::EndHeaders(Clock::time_point now) {
  const Frame frame = *std::exchange(open_headers_, std::nullopt);
  Bytes block = BytesOf(payload_);
  std::size_t pad_bytes = 0;
  if ((frame.flags & kPadded) != 0) {
    if (block.empty()) return Violation(kProtocolError, "padding without its length");
    pad_bytes = block.front();
    block = block.subspan(1);
  }
  const std::size_t skipped = (frame.flags & kHasPriority) != 0 ? kPriorityBytes : 0;
  if (skipped + pad_bytes > block.size()) {
    return Violation(kProtocolError, "more padding than frame");
  }
  Headers fields;
  // Padding belongs to the first frame only; a padded block that continues is nobody's.
  const auto status =
      ReadHeaders(block.subspan(skipped, block.size() - skipped - pad_bytes), &fields);
  if (!status) return Violation(kCompressionError, "a header block cannot be decoded");

  const bool is_end = (frame.flags & kEndStream) != 0;
  if (const auto it = streams_.find(frame.stream); it != streams_.end()) {  // trailers
    if (!is_end || it->second.is_client_done) {
      return Violation(kProtocolError, "headers in the middle of a call");
    }
    AppendData(frame.stream, {}, /*is_end=*/true);
    it->second.is_client_done = true;
    upload_bytes_ -= std::exchange(it->second.received_bytes, 0);
    return true;
  }
  if (frame.stream % 2 == 0) return Violation(kProtocolError, "an even stream");
  if (frame.stream <= last_stream_) return true;  // trailers of a call that has ended
  last_stream_ = frame.stream;
  if (!status->ok()) {
    Refuse(frame.stream, *status);
    return true;
  }
  if (streams_.size() >= kMaxOpenStreams) {
    return Violation(kEnhanceYourCalm, "too many calls at once");
  }
  Stream& stream = streams_[frame.stream];
  stream.start = now;
  stream.is_client_done = is_end;
  AppendHeaders(frame.stream, fields, is_end);
  return true;
}

std::optional<Status> Http2Gate::ReadHeaders(Bytes block, Headers* fields) {
  std::string error;
  std::size_t size_bytes = 0;
  const bool is_decoded = hpack_.Decode(block, [&](std::string_view name, std::string_view value) {
    size_bytes += name.size() + value.size();
    if (!error.empty() || size_bytes > kMaxHeaderListBytes) return;
    error = FieldError(name, value);
    if (error.empty() && !IsDropped(name)) AppendHeaderField(name, value, fields);
  });
  if (!is_decoded) return std::nullopt;
  if (size_bytes > kMaxHeaderListBytes) {
    return ResourceExhausted(reason::HOST_MEMORY, "the headers are larger than the limit of " +
                                                      std::to_string(kMaxHeaderListBytes));
  }
  if (!error.empty()) return InvalidArgument(reason::ARGUMENT_INVALID, error);
  return Status::Ok();
}

void Http2Gate::AppendHeaders(std::uint32_t stream, const Headers& fields, bool is_end) {
  open_data_.reset();
  std::string_view left = fields;
  FrameType type = kHeaders;
  do {
    const std::string_view part = left.substr(0, kMaxFrameBytes);
    left.remove_prefix(part.size());
    int flags = left.empty() ? kEndHeaders : 0;
    if (type == kHeaders && is_end) flags |= kEndStream;
    to_library += FrameHeader(part.size(), type, flags, stream);
    to_library += part;
    type = kContinuation;
  } while (!left.empty());
}

void Http2Gate::AppendData(std::uint32_t stream, Bytes bytes, bool is_end) {
  constexpr std::size_t kFlagsAt = 4;
  do {
    std::size_t size_bytes = 0;
    if (open_data_ && open_data_stream_ == stream) {
      size_bytes = to_library.size() - *open_data_ - kFrameHeaderBytes;
    }
    if (!open_data_ || open_data_stream_ != stream ||
        (size_bytes == kMaxFrameBytes && !bytes.empty())) {
      open_data_ = to_library.size();
      open_data_stream_ = stream;
      size_bytes = 0;
      to_library += FrameHeader(0, kData, 0, stream);
    }
    const Bytes part = bytes.first(std::min(kMaxFrameBytes - size_bytes, bytes.size()));
    to_library.append(part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    std::string size_text;
    AppendNumber(static_cast<std::uint32_t>(size_bytes + part.size()), 3, &size_text);
    to_library.replace(*open_data_, size_text.size(), size_text);
  } while (!bytes.empty());
  if (!is_end) return;
  to_library[*open_data_ + kFlagsAt] = static_cast<char>(kEndStream);
  open_data_.reset();
}

void Http2Gate::ReturnWindow(std::uint32_t stream, std::size_t bytes) {
  if (bytes == 0) return;
  SendToClient(NumberFrame(kWindowUpdate, 0, static_cast<std::uint32_t>(bytes)));
  if (stream == 0 || streams_.count(stream) == 0) return;
  SendToClient(NumberFrame(kWindowUpdate, stream, static_cast<std::uint32_t>(bytes)));
}

void Http2Gate::Refuse(std::uint32_t id, const Status& status) {
  const auto it = streams_.find(id);
  if (it != streams_.end()) {
    open_data_.reset();
    to_library += NumberFrame(kResetStream, id, kCancel);
    const bool may_be_answered = it->second.has_message;
    Forget(it);
    if (may_be_answered) {
      SendToClient(NumberFrame(kResetStream, id, kEnhanceYourCalm));
      return on_refusal_(status);
    }
  }
  const std::string block = StatusHeaders(status);
  SendToClient(FrameHeader(block.size(), kHeaders, kEndHeaders | kEndStream, id) + block +
               NumberFrame(kResetStream, id, kNoError));
  on_refusal_(status);
}

bool Http2Gate::Violation(std::uint32_t code, const std::string& what) {
  std::string frame = FrameHeader(8 + what.size(), kGoAway, 0, 0);
  AppendNumber(last_stream_, 4, &frame);
  AppendNumber(code, 4, &frame);
  SendToClient(frame + what);
  on_refusal_(InvalidArgument(reason::ARGUMENT_INVALID, what));
  return false;
}

void Http2Gate::Forget(std::map<std::uint32_t, Stream>::iterator stream) {
  upload_bytes_ -= stream->second.received_bytes;
  streams_.erase(stream);
}

void Http2Gate::SendToClient(std::string frame) {
  (library_.is_between_frames() ? to_client : waiting_for_client_) += frame;
}

bool Http2Gate::FromLibrary(Bytes bytes) {
  while (!bytes.empty()) {
    if (library_.header_count < kFrameHeaderBytes) {
      if (!library_.ReadHeader(&bytes)) return true;
      to_client.append(library_.header.begin(), library_.header.end());
    }
    const Bytes part = bytes.first(std::min(library_.left_bytes, bytes.size()));
    to_client.append(part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    library_.left_bytes -= part.size();
    if (library_.left_bytes > 0) continue;
    library_.header_count = 0;
    to_client += std::exchange(waiting_for_client_, {});
    const Frame& frame = library_.frame;
    const bool is_over =
        frame.type == kResetStream ||
        ((frame.type == kData || frame.type == kHeaders) && (frame.flags & kEndStream) != 0);
    if (!is_over) continue;
    if (const auto it = streams_.find(frame.stream); it != streams_.end()) Forget(it);
  }
  return true;
}

void Http2Gate::Tick(Clock::time_point now) {
  while (const auto oldest = oldest_upload()) {
    if (now < *oldest + limits_.upload_timeout) return;
    RefuseOldestUpload();
  }
}

std::optional<Http2Gate::Clock::time_point> Http2Gate::oldest_upload() const {
  std::optional<Clock::time_point> oldest;
  for (const auto& [id, stream] : streams_) {
    if (stream.is_uploading() && (!oldest || stream.start < *oldest)) oldest = stream.start;
  }
  return oldest;
}

void Http2Gate::RefuseOldestUpload() {
  const auto oldest = oldest_upload();
  if (!oldest) return;
  for (const auto& [id, stream] : streams_) {
    if (!stream.is_uploading() || stream.start != *oldest) continue;
    return Refuse(id, DeadlineExceeded(reason::CALL_TOO_LONG,
                                       "the request took too long to arrive, or too many others "
                                       "arrive at the same time"));
  }
}

}  // namespace interlacer
