#include "common/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/file_io.h"

namespace interlacer {

StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  return Lock(folder, LOCK_EX | LOCK_NB);
}

StatusOr<FolderLock> FolderLock::Wait(const std::string& folder) { return Lock(folder, LOCK_EX); }

StatusOr<FolderLock> FolderLock::Lock(const std::string& folder, int operation) {
  const std::string path = folder + "/.lock";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return CannotWrite(folder, error);
  FolderLock lock(open(path.c_str(), O_RDWR | O_CREAT, 0644));
  if (lock.file_ < 0) return CannotWrite(path, {errno, std::generic_category()});
  int result = 0;
  do {
    result = flock(lock.file_, operation);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return lock;
  if (errno != EWOULDBLOCK) return CannotWrite(path, {errno, std::generic_category()});
  return FailedPrecondition(reason::FILE_UNWRITABLE,
                            "another command, or a training that it left, is at work here; wait "
                            "for its end")
      .WithField(path);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace interlacer
