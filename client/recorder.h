#pragma once

/// Writes what a client sends and gets to a file, for whoever asks later what the robot was told.
///
/// Every request, every answer, and the google.rpc.Status of calls that failed, in the format of
/// proto/recording.h, each after the number of its call and flushed by itself: a process that dies
/// leaves all but its last message. `interlacer replay` and client/recording.h read it.
/// Errors: those of common/file_io.h for a file that cannot be opened. What cannot be written
/// afterwards counts as dropped and fails no call. Threads: all methods may run together.

#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

class Recorder {
 public:
  /// Replaces the file. Past `max_bytes` nothing more is written.
  static StatusOr<std::shared_ptr<Recorder>> Open(
      const std::string& path, std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max());

  std::uint64_t NewCall() { return ++call_count_; }
  /// `name`: such as "interlacer.v1.PredictRolloutRequest"; `bytes`: the message, serialised.
  void Write(std::uint64_t call, std::string_view name, const std::string& bytes);
  /// Messages that are not in the file.
  std::int64_t dropped_count() const { return dropped_count_; }

 private:
  Recorder(std::ofstream file, std::int64_t max_bytes)
      : max_bytes_(max_bytes), file_(std::move(file)) {}

  const std::int64_t max_bytes_;
  std::atomic<std::uint64_t> call_count_{0};
  std::atomic<std::int64_t> dropped_count_{0};
  std::mutex mutex_;  // guards the rest
  std::ofstream file_;
  std::int64_t written_bytes_ = 0;
};

}  // namespace interlacer
