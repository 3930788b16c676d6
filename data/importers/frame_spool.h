#pragma once

/// Frames on disk between decoding, which has one order, and writing, which has another.
///
/// The file has no name and is gone with the object. Errors: FILE_UNWRITABLE, FILE_UNREADABLE.
/// Threads: Read may run together, nothing may run with Append.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

class FrameSpool {
 public:
  /// In `folder`, or the nearest above it that is there.
  static StatusOr<std::unique_ptr<FrameSpool>> Create(const std::string& folder);
  ~FrameSpool();
  FrameSpool(const FrameSpool&) = delete;
  FrameSpool& operator=(const FrameSpool&) = delete;

  Status Append(std::span<const std::uint8_t> frame);
  std::int64_t frame_count() const { return static_cast<std::int64_t>(ends_.size()); }
  StatusOr<std::vector<std::uint8_t>> Read(std::int64_t frame) const;
  /// Of the file, at its beginning.
  int descriptor() const { return descriptor_; }

 private:
  explicit FrameSpool(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  int descriptor_ = -1;
  std::vector<std::int64_t> ends_;
};

}  // namespace interlacer
