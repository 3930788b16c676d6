#pragma once

/// Cuts one block of memory into arrays; with a null base it only computes the size. Does not
/// allocate.

#include <cstddef>
#include <cstdint>

namespace interlacer {

class WorkspaceCutter {
 public:
  explicit WorkspaceCutter(void* base) : base_(static_cast<char*>(base)) {}

  /// The next array of `count` items, on a boundary of 256 bytes.
  template <typename T>
  T* Take(std::int64_t count) {
    char* const at = base_ == nullptr ? nullptr : base_ + size_bytes_;
    size_bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(at);
  }

  /// Size of all arrays taken so far.
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  char* base_;
  std::size_t size_bytes_ = 0;
};

}  // namespace interlacer
