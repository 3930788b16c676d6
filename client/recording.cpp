#include "client/recording.h"

#include <google/protobuf/any.pb.h>

#include <utility>

#include "common/file_io.h"
#include "proto/recording.h"

namespace interlacer {
namespace {

constexpr int kMaxVarintBytes = 10;

}  // namespace

StatusOr<RecordingReader> RecordingReader::Open(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t size_bytes, FileSizeBytes(path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(reason::FILE_UNREADABLE, "cannot be opened").WithField(path);
  return RecordingReader(path, std::move(file), size_bytes);
}

Status RecordingReader::Cut(std::int64_t start) const {
  return Status(StatusCode::kDataLoss, reason::FILE_UNREADABLE,
                "the recording is cut in the message at byte " + std::to_string(start))
      .WithField(path_);
}

StatusOr<std::optional<RecordedMessage>> RecordingReader::Next() {
  const std::int64_t start = position_;
  std::uint64_t length = 0;
  for (int i = 0;; ++i) {
    const int byte = file_.get();
    if (byte == std::char_traits<char>::eof()) {
      if (i == 0) return std::optional<RecordedMessage>();
      return Cut(start);
    }
    if (i == kMaxVarintBytes) {
      return InvalidArgument(reason::SCHEMA_INVALID,
                             "no recording: no length at byte " + std::to_string(start))
          .WithField(path_);
    }
    ++position_;
    length |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) break;
  }
  // Before anything is allocated.
  if (position_ > size_bytes_ || length > static_cast<std::uint64_t>(size_bytes_ - position_)) {
    return Cut(start);
  }
  std::string bytes(length, '\0');
  if (!file_.read(bytes.data(), static_cast<std::streamsize>(length))) return Cut(start);
  position_ += static_cast<std::int64_t>(length);
  google::protobuf::Any any;
  if (!any.ParseFromString(bytes) || !any.type_url().starts_with(recording::kTypeUrlPrefix)) {
    return InvalidArgument(reason::SCHEMA_INVALID,
                           "no recording: no message at byte " + std::to_string(start))
        .WithField(path_);
  }
  return std::optional(RecordedMessage{any.type_url().substr(recording::kTypeUrlPrefix.size()),
                                       std::move(*any.mutable_value())});
}

}  // namespace interlacer
