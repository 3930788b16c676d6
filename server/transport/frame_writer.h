#pragma once

/// Writes HTTP/2 frames of a size that every receiver takes at the end of a text. DATA of one call
/// that follows DATA of the same grows that frame. One thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/transport/http2_frame.h"

namespace interlacer {

class FrameWriter {
 public:
  /// `out` outlives the object.
  explicit FrameWriter(std::string* out) : out_(out) {}

  /// From now on DATA begins a frame of its own; needed before `out` is cut at its front.
  void Close() { open_data_.reset(); }
  void Headers(std::uint32_t stream, std::string_view block, bool is_end);
  void Data(std::uint32_t stream, http2::Bytes bytes, bool is_end);
  /// A whole frame, or a part of one.
  void Raw(std::string_view bytes);

 private:
  std::string* const out_;
  /// Where the last frame begins, if it is DATA that may grow.
  std::optional<std::size_t> open_data_;
  std::uint32_t open_data_stream_ = 0;
};

}  // namespace interlacer
