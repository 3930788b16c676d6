#include "model/files/tensor_header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "common/file_io.h"
#include "common/json.h"

namespace interlacer {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr char kMetadataKey[] = "__metadata__";

std::uint64_t LengthOf(std::span<const std::uint8_t> bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

StatusOr<TensorHeader> ReadHeader(std::span<const std::uint8_t> bytes, const std::string& path) {
  if (bytes.size() < kLengthBytes) {
    return CheckpointInvalid(path, "at least 8 bytes", std::to_string(bytes.size()));
  }
  // A file of safetensors begins with the length of its header, which is far below this text's.
  constexpr std::string_view kPointer = "version ";  // https://git-lfs.github.com/spec/v1
  if (std::memcmp(bytes.data(), kPointer.data(), kLengthBytes) == 0) {
    return CheckpointInvalid(path, "weights", "a Git LFS pointer, which git lfs pull replaces");
  }
  const std::uint64_t length = LengthOf(bytes);
  const std::uint64_t limit =
      std::min<std::uint64_t>(kMaxTensorHeaderBytes, bytes.size() - kLengthBytes);
  if (length > limit) {
    return CheckpointInvalid(path, "a header of at most " + std::to_string(limit) + " bytes",
                             std::to_string(length));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  TensorHeader header;
  INTERLACER_ASSIGN_OR_RETURN(header.tensors, ParseJson(text, path, reason::CHECKPOINT_INVALID));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(header.tensors, "", reason::CHECKPOINT_INVALID));
  header.size_bytes = kLengthBytes + length;
  if (!root.Has(kMetadataKey)) return header;
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject metadata, root.GetObject(kMetadataKey));
  for (const auto& [key, value] : header.tensors[kMetadataKey].items()) {
    INTERLACER_ASSIGN_OR_RETURN(header.metadata[key], metadata.Get<std::string>(key));
  }
  header.tensors.erase(kMetadataKey);
  return header;
}

}  // namespace

StatusOr<TensorHeader> ParseTensorHeader(std::span<const std::uint8_t> bytes,
                                         const std::string& path) {
  StatusOr<TensorHeader> header = ReadHeader(bytes, path);
  if (!header.ok()) return AsCheckpointInvalid(header.status());
  return header;
}

std::string FormatTensorHeader(const nlohmann::ordered_json& tensors,
                               const TensorMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  header.update(tensors);
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  std::string bytes(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes + text;
}

StatusOr<TensorMetadata> ReadTensorMetadata(const std::string& path) {
  INTERLACER_RETURN_IF_ERROR(FileSizeBytes(path).status());  // names an absent file or a folder
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes;
  const auto read = [&](std::size_t count) {
    const std::size_t size = bytes.size();
    bytes.resize(size + count);
    file.read(reinterpret_cast<char*>(bytes.data() + size), static_cast<std::streamsize>(count));
    bytes.resize(size + static_cast<std::size_t>(file.gcount()));
  };
  read(kLengthBytes);
  if (bytes.size() == kLengthBytes) {
    read(static_cast<std::size_t>(std::min<std::uint64_t>(LengthOf(bytes), kMaxTensorHeaderBytes)));
  }
  if (file.bad() || !file.is_open()) {
    return InvalidArgument(reason::FILE_UNREADABLE, "cannot read " + path).WithField(path);
  }
  INTERLACER_ASSIGN_OR_RETURN(TensorHeader header, ParseTensorHeader(bytes, path));
  return std::move(header.metadata);
}

StatusOr<std::int64_t> OptimizerSteps(const TensorMetadata& metadata) {
  const auto it = metadata.find(kOptimizerStepsKey);
  const std::string text = it == metadata.end() ? "" : it->second;
  std::int64_t steps = -1;
  std::from_chars(text.data(), text.data() + text.size(), steps);
  if (steps >= 0) return steps;
  return CheckpointInvalid(std::string("metadata ") + kOptimizerStepsKey, "a count",
                           "\"" + text + "\"");
}

Status CheckpointInvalid(std::string field, std::string expected, std::string got) {
  std::string message = field + ": expected " + expected + ", got " + got;
  return FailedPrecondition(reason::CHECKPOINT_INVALID, std::move(message))
      .WithMetadata("expected", std::move(expected))
      .WithMetadata("got", std::move(got))
      .WithField(std::move(field));
}

Status AsCheckpointInvalid(const Status& status) {
  Status invalid = FailedPrecondition(reason::CHECKPOINT_INVALID, status.message());
  for (const auto& [key, value] : status.metadata()) {
    static_cast<void>(std::move(invalid).WithMetadata(key, value));  // modifies `invalid`
  }
  invalid.WithField(status.field());
  return invalid;
}

}  // namespace interlacer
