/// Parses a request around its pixels: walks the serialized bytes down to the images, sets their
/// payloads aside, and passes the rest, a few hundred bytes with tokens, to the generated parser,
/// which decides everything else, such as fields given twice.

#include <grpcpp/impl/codegen/proto_utils.h>

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/convert/pixel_payloads.h"

namespace interlacer {
namespace {

/// Wire types of the protobuf encoding.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
constexpr int kWireTypeBits = 3;

/// Numbers of the fields that lead to payloads, outermost first; the last is the payload.
using Level = std::array<std::uint32_t, 2>;
using Path = std::span<const Level>;

/// Requests with more payloads repeat fields, of which the generated parser keeps only the last.
constexpr std::size_t kMaxPayloads = 1024;

constexpr Level One(int field) { return {std::uint32_t(field), std::uint32_t(field)}; }
constexpr Level kObservations = One(wire::SceneInput::kObservationsFieldNumber);
constexpr Level kViews = One(wire::Observation::kViewsFieldNumber);
constexpr Level kImages = {wire::RgbdView::kColorFieldNumber, wire::RgbdView::kDepthFieldNumber};
constexpr Level kData = One(wire::Image::kDataFieldNumber);

constexpr Level kRolloutPath[] = {One(wire::PredictRolloutRequest::kSourceFieldNumber),
                                  One(wire::PredictionSource::kSceneInputFieldNumber),
                                  kObservations,
                                  kViews,
                                  kImages,
                                  kData};
constexpr Level kCandidatesPath[] = {One(wire::PredictCandidatesRequest::kSourceFieldNumber),
                                     One(wire::PredictionSource::kSceneInputFieldNumber),
                                     kObservations,
                                     kViews,
                                     kImages,
                                     kData};
constexpr Level kValidatePath[] = {One(wire::ValidateSceneRequest::kSceneInputFieldNumber),
                                   kObservations, kViews, kImages, kData};
constexpr Level kCreatePath[] = {One(wire::CreateSceneRequest::kSceneInputFieldNumber),
                                 kObservations, kViews, kImages, kData};
constexpr Level kUpdatePath[] = {One(wire::UpdateSceneRequest::kObservationFieldNumber), kViews,
                                 kImages, kData};

void PutVarint(std::uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

/// Reads the pieces of a request in order.
class Reader {
 public:
  explicit Reader(std::span<const grpc::Slice> slices) : slices_(slices) { SkipEmpty(); }

  std::size_t position() const { return position_; }

  /// Returns nothing for numbers that are truncated, too large or not in the shortest encoding,
  /// because parsers differ on these.
  std::optional<std::uint64_t> Varint() {
    constexpr int kLastShift = 63;
    std::uint64_t value = 0;
    for (int shift = 0; shift <= kLastShift && !slices_.empty(); shift += 7) {
      const std::uint8_t byte = slices_.front().begin()[offset_];
      Advance(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte >= 0x80) continue;
      const bool is_overlong = byte == 0 && shift > 0;
      const bool is_too_large = shift == kLastShift && byte > 1;
      if (is_overlong || is_too_large) return std::nullopt;
      return value;
    }
    return std::nullopt;
  }

  /// Passes the next `size` bytes on, piece by piece; false when there are fewer.
  template <typename Visit>
  bool Take(std::size_t size, const Visit& visit) {
    while (size > 0) {
      if (slices_.empty()) return false;
      const std::size_t here = std::min(size, slices_.front().size() - offset_);
      visit(PixelPayload::Piece(slices_.front().begin() + offset_, here));
      size -= here;
      Advance(here);
    }
    return true;
  }

 private:
  void Advance(std::size_t size) {
    position_ += size;
    offset_ += size;
    SkipEmpty();
  }
  void SkipEmpty() {
    while (!slices_.empty() && offset_ == slices_.front().size()) {
      slices_ = slices_.subspan(1);
      offset_ = 0;
    }
  }

  std::span<const grpc::Slice> slices_;
  std::size_t offset_ = 0;
  std::size_t position_ = 0;
};

}  // namespace

/// Stops at the first byte that it does not understand (groups are not supported), or where the
/// rest becomes too large.
class RequestSplitter {
 public:
  RequestSplitter(const grpc::ByteBuffer& bytes, PixelPayloads* payloads) : payloads_(*payloads) {
    is_whole_ = bytes.Dump(&payloads_.slices_).ok();
    for (const grpc::Slice& slice : payloads_.slices_) size_bytes_ += slice.size();
  }

  /// Returns the request with tokens in place of the payloads at the end of `path`; call once.
  std::optional<std::string> Split(Path path) {
    std::string rest;
    Reader reader(payloads_.slices_);
    if (!is_whole_ || !SplitMessage(path, size_bytes_, &reader, &rest)) return std::nullopt;
    return rest;
  }
  /// Why Split failed: more than kMaxParsedBytes besides the payloads.
  bool is_too_large() const { return is_too_large_; }

 private:
  bool SplitMessage(Path path, std::size_t size_bytes, Reader* reader, std::string* rest) {
    const std::size_t end = reader->position() + size_bytes;
    while (reader->position() < end) {
      const auto tag = reader->Varint();
      if (!tag || *tag > std::numeric_limits<std::uint32_t>::max()) return false;
      PutVarint(*tag, rest);
      if (!SplitField(path, *tag, end, reader, rest)) return false;
      if (!HasRoom(*rest, 0)) return false;
    }
    return reader->position() == end;
  }

  bool SplitField(Path path, std::uint64_t tag, std::size_t end, Reader* reader,
                  std::string* rest) {
    const auto copy = [rest](PixelPayload::Piece piece) {
      rest->append(reinterpret_cast<const char*>(piece.data()), piece.size());
    };
    switch (tag & ((1u << kWireTypeBits) - 1)) {
      case kVarint: {
        const auto value = reader->Varint();
        if (value) PutVarint(*value, rest);
        return value.has_value();
      }
      case kFixed64:
        return reader->Take(8, copy);
      case kFixed32:
        return reader->Take(4, copy);
      case kLengthDelimited:
        break;
      default:
        return false;
    }
    const auto size_bytes = reader->Varint();
    if (!size_bytes || *size_bytes > end - std::min(end, reader->position())) return false;
    const std::uint64_t field = tag >> kWireTypeBits;
    if (field != path.front()[0] && field != path.front()[1]) {
      if (!HasRoom(*rest, *size_bytes)) return false;
      PutVarint(*size_bytes, rest);
      return reader->Take(*size_bytes, copy);
    }
    std::string inner;
    if (path.size() > 1) {
      if (!SplitMessage(path.subspan(1), *size_bytes, reader, &inner)) return false;
    } else {
      if (payloads_.count() == kMaxPayloads) return false;
      PixelPayload payload;
      reader->Take(*size_bytes, [&](PixelPayload::Piece piece) { payload.Add(piece); });
      if (payload.size_bytes() > 0) inner = payloads_.Keep(std::move(payload));
    }
    PutVarint(inner.size(), rest);
    *rest += inner;
    return true;
  }

  bool HasRoom(const std::string& rest, std::uint64_t more_bytes) {
    is_too_large_ = is_too_large_ || rest.size() + more_bytes > kMaxParsedBytes;
    return !is_too_large_;
  }

  PixelPayloads& payloads_;
  bool is_whole_ = false;
  bool is_too_large_ = false;
  std::size_t size_bytes_ = 0;
};

namespace {

/// Parses all bytes with the generated parser; for requests that the splitter does not understand.
template <typename Request>
bool ParseWhole(const grpc::ByteBuffer& bytes, Request* request) {
  grpc::ByteBuffer copy(bytes);
  return grpc::SerializationTraits<Request>::Deserialize(&copy, request).ok();
}

/// Of a request with a PredictionSource.
template <typename Request>
PixelPayloads TakeFromSource(Request* request) {
  if (!request->source().has_scene_input()) return {};
  return PixelPayloads(request->mutable_source()->mutable_scene_input());
}
/// Of a request with a SceneInput of its own.
template <typename Request>
PixelPayloads TakeFromScene(Request* request) {
  if (!request->has_scene_input()) return {};
  return PixelPayloads(request->mutable_scene_input());
}

PixelPayloads TakePayloads(wire::PredictRolloutRequest* request) { return TakeFromSource(request); }
PixelPayloads TakePayloads(wire::PredictCandidatesRequest* request) {
  return TakeFromSource(request);
}
PixelPayloads TakePayloads(wire::ValidateSceneRequest* request) { return TakeFromScene(request); }
PixelPayloads TakePayloads(wire::CreateSceneRequest* request) { return TakeFromScene(request); }
PixelPayloads TakePayloads(wire::UpdateSceneRequest* request) {
  if (!request->has_observation()) return {};
  return PixelPayloads(request->mutable_observation());
}

template <typename Request>
Status ParseAround(Path path, const grpc::ByteBuffer& bytes, Request* request,
                   PixelPayloads* payloads) {
  RequestSplitter splitter(bytes, payloads);
  const auto rest = splitter.Split(path);
  if (splitter.is_too_large()) return ParsedBytesExceeded();
  const std::string type = request->GetTypeName();
  if (rest) {
    if (request->ParseFromString(*rest)) return Status::Ok();
    return Internal("the request is not a valid " + type);
  }
  if (bytes.Length() > kMaxParsedBytes) {
    return Internal("the request is no " + type + " in the shortest encoding");
  }
  if (!ParseWhole(bytes, request)) return Internal("the request is not a valid " + type);
  *payloads = TakePayloads(request);
  return Status::Ok();
}

}  // namespace

Status ParsedBytesExceeded() {
  const std::string limit = std::to_string(kMaxParsedBytes);
  return ResourceExhausted(reason::HOST_MEMORY,
                           "the request holds more than " + limit + " bytes beside its pixels")
      .WithMetadata("limit", limit);
}

Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::PredictRolloutRequest* request,
                          PixelPayloads* payloads) {
  return ParseAround(kRolloutPath, bytes, request, payloads);
}

Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::PredictCandidatesRequest* request,
                          PixelPayloads* payloads) {
  return ParseAround(kCandidatesPath, bytes, request, payloads);
}

Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::ValidateSceneRequest* request,
                          PixelPayloads* payloads) {
  return ParseAround(kValidatePath, bytes, request, payloads);
}

Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::CreateSceneRequest* request,
                          PixelPayloads* payloads) {
  return ParseAround(kCreatePath, bytes, request, payloads);
}

Status ParseWithoutPixels(const grpc::ByteBuffer& bytes, wire::UpdateSceneRequest* request,
                          PixelPayloads* payloads) {
  return ParseAround(kUpdatePath, bytes, request, payloads);
}

}  // namespace interlacer
