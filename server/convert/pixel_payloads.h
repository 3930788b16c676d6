#pragma once

/// Gives access to the pixel payloads of a request without copying them out of gRPC's buffers.
///
/// A request is parsed without its payloads: the `data` field of every image of the parsed message
/// holds a token instead, and PixelPayloads::Of finds the bytes behind it. Pixels are thus read
/// only once, by the decoder, from the pieces in which they arrived. Thread-safe to read.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/convert/wire.h"

namespace interlacer {

/// The bytes of one image, in one or more pieces. A view: PixelPayloads owns the bytes.
class PixelPayload {
 public:
  using Piece = std::span<const std::uint8_t>;

  void Add(Piece piece);
  std::size_t size_bytes() const { return size_bytes_; }
  /// Copies [offset, offset + size) of the payload.
  void CopyTo(std::size_t offset, std::size_t size_bytes, std::uint8_t* out) const;
  /// The whole payload in one piece; copied into `copy` only if it has several pieces.
  Piece Joined(std::vector<std::uint8_t>* copy) const;

  /// Passes `count` elements from byte `offset` on in order, as visit(bytes, element_count) with as
  /// many elements at once as are contiguous.
  template <int kElementBytes, typename Visit>
  void ForRuns(std::size_t offset, std::size_t count, const Visit& visit) const;

 private:
  std::vector<Piece> pieces_;
  std::size_t size_bytes_ = 0;
};

class PixelPayloads {
 public:
  PixelPayloads() = default;
  PixelPayloads(PixelPayloads&&) = default;
  PixelPayloads& operator=(PixelPayloads&&) = default;
  PixelPayloads(const PixelPayloads&) = delete;
  PixelPayloads& operator=(const PixelPayloads&) = delete;

  /// Moves the payloads out of a message that was parsed with them.
  explicit PixelPayloads(wire::SceneInput* input);
  explicit PixelPayloads(wire::Observation* observation);

  /// The payload behind the token of an image; empty when it has none.
  const PixelPayload& Of(const wire::Image& image) const;
  std::size_t count() const { return payloads_.size(); }

 private:
  friend class RequestSplitter;

  void TakeFrom(wire::Observation* observation);
  /// Stores a payload and returns its token.
  std::string Keep(PixelPayload payload);

  std::vector<PixelPayload> payloads_;
  /// Owners of the bytes: either gRPC's slices or strings of the message.
  std::vector<grpc::Slice> slices_;
  std::deque<std::string> strings_;
};

/// Limit of a request's size without its pixels. Two bytes can become a message of seventy, so
/// nothing larger is parsed.
inline constexpr std::size_t kMaxParsedBytes = std::size_t{1} << 20;

/// The error RESOURCE_EXHAUSTED HOST_MEMORY.
Status ParsedBytesExceeded();

/// Parses a request with frames, of any method. Errors: INTERNAL INTERNAL_ERROR when the bytes
/// are not such a message, or exceed kMaxParsedBytes and are not in the shortest encoding;
/// RESOURCE_EXHAUSTED HOST_MEMORY.
Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::PredictRolloutRequest* request,
                          PixelPayloads* payloads);
Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::PredictCandidatesRequest* request,
                          PixelPayloads* payloads);
Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::ValidateSceneRequest* request,
                          PixelPayloads* payloads);
Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::CreateSceneRequest* request,
                          PixelPayloads* payloads);
Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::UpdateSceneRequest* request,
                          PixelPayloads* payloads);

template <int kElementBytes, typename Visit>
void PixelPayload::ForRuns(std::size_t offset, std::size_t count, const Visit& visit) const {
  std::uint8_t element[kElementBytes];
  std::size_t filled = 0;  // bytes of an element that began in the previous piece
  std::size_t left_bytes = count * kElementBytes;
  for (Piece piece : pieces_) {
    if (left_bytes == 0) return;
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    piece = piece.subspan(offset, std::min(left_bytes, piece.size() - offset));
    offset = 0;
    left_bytes -= piece.size();
    if (filled > 0) {
      const std::size_t missing = std::min(kElementBytes - filled, piece.size());
      std::memcpy(element + filled, piece.data(), missing);
      piece = piece.subspan(missing);
      filled = (filled + missing) % kElementBytes;
      if (filled > 0) continue;
      visit(element, std::size_t{1});
    }
    const std::size_t whole = piece.size() / kElementBytes;
    if (whole > 0) visit(piece.data(), whole);
    piece = piece.subspan(whole * kElementBytes);
    filled = piece.size() % kElementBytes;
    std::memcpy(element, piece.data(), filled);
  }
}

}  // namespace interlacer
