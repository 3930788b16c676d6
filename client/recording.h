#pragma once

/// Reads recordings (proto/recording.h) of a client or of a server's flight recorder.
///
/// Errors: those of common/file_io.h; INVALID_ARGUMENT SCHEMA_INVALID for bytes that are no
/// recording; DATA_LOSS FILE_UNREADABLE with the position for a file that was cut: all before it
/// was read. One reader, one thread.

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "common/status.h"

namespace interlacer {

struct RecordedMessage {
  std::string name;   ///< such as "interlacer.v1.PredictRolloutRequest"
  std::string bytes;  ///< serialised
};

class RecordingReader {
 public:
  static StatusOr<RecordingReader> Open(const std::string& path);
  /// The next message; nothing at the end. What is appended after Open counts as cut off.
  StatusOr<std::optional<RecordedMessage>> Next();

 private:
  explicit RecordingReader(std::string path, std::ifstream file, std::int64_t size_bytes)
      : path_(std::move(path)), file_(std::move(file)), size_bytes_(size_bytes) {}
  Status Cut(std::int64_t start) const;

  std::string path_;
  std::ifstream file_;
  std::int64_t size_bytes_ = 0, position_ = 0;
};

}  // namespace interlacer
