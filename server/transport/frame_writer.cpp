#include "server/transport/frame_writer.h"

#include <algorithm>

namespace interlacer {

using http2::Bytes;
using http2::FrameHeader;
using http2::kFrameHeaderBytes;
using http2::kMaxFrameBytes;

void FrameWriter::Raw(std::string_view bytes) {
  Close();
  *out_ += bytes;
}

void FrameWriter::Headers(std::uint32_t stream, std::string_view block, bool is_end) {
  Close();
  http2::FrameType type = http2::kHeaders;
  do {
    const std::string_view part = block.substr(0, kMaxFrameBytes);
    block.remove_prefix(part.size());
    int flags = block.empty() ? http2::kEndHeaders : 0;
    if (type == http2::kHeaders && is_end) flags |= http2::kEndStream;
    *out_ += FrameHeader(part.size(), type, flags, stream);
    *out_ += part;
    type = http2::kContinuation;
  } while (!block.empty());
}

void FrameWriter::Data(std::uint32_t stream, Bytes bytes, bool is_end) {
  constexpr std::size_t kFlagsAt = 4;
  do {
    std::size_t size_bytes = 0;
    if (open_data_ && open_data_stream_ == stream) {
      size_bytes = out_->size() - *open_data_ - kFrameHeaderBytes;
    }
    if (!open_data_ || open_data_stream_ != stream ||
        (size_bytes == kMaxFrameBytes && !bytes.empty())) {
      open_data_ = out_->size();
      open_data_stream_ = stream;
      size_bytes = 0;
      *out_ += FrameHeader(0, http2::kData, 0, stream);
    }
    const Bytes part = bytes.first(std::min(kMaxFrameBytes - size_bytes, bytes.size()));
    out_->append(part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    std::string size_text;
    http2::AppendNumber(static_cast<std::uint32_t>(size_bytes + part.size()), 3, &size_text);
    out_->replace(*open_data_, size_text.size(), size_text);
  } while (!bytes.empty());
  if (!is_end) return;
  (*out_)[*open_data_ + kFlagsAt] = static_cast<char>(http2::kEndStream);
  Close();
}

}  // namespace interlacer
