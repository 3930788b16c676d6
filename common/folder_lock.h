#pragma once

/// Keeps two commands from writing into one folder at once.
///
/// Held by this process and by its children, which inherit the file: what a study that was killed
/// has left running still holds it. Errors: FAILED_PRECONDITION FILE_UNWRITABLE. Movable, one
/// thread.

#include <string>

#include "common/status.h"

namespace interlacer {

class FolderLock {
 public:
  /// Makes the folder where it is not there. Refuses where another command holds it.
  static StatusOr<FolderLock> Take(const std::string& folder);
  /// Waits for its end instead.
  static StatusOr<FolderLock> Wait(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  static StatusOr<FolderLock> Lock(const std::string& folder, int operation);
  explicit FolderLock(int file) : file_(file) {}
  int file_;
};

}  // namespace interlacer
