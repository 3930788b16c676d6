#include "common/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace interlacer {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status ReadError(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    return NotFound(reason::FILE_NOT_FOUND, "no such file: " + path).WithField(path);
  }
  return InvalidArgument(reason::FILE_UNREADABLE,
                         "cannot read " + path + ": " + std::strerror(error))
      .WithField(path);
}

Status WriteError(const std::string& path, int error) {
  return CannotWrite(path, {error, std::generic_category()});
}

Status RegularFileSize(const std::string& path, int fd, std::int64_t* size_bytes) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ReadError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Mismatch(reason::FILE_UNREADABLE, path, "a regular file", "a folder or device");
  }
  *size_bytes = info.st_size;
  return Status::Ok();
}

/// Reads into any contiguous byte container.
template <typename Container>
StatusOr<Container> ReadAll(const std::string& path, std::int64_t max_bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return ReadError(path, errno);
  std::int64_t size_bytes = 0;
  INTERLACER_RETURN_IF_ERROR(RegularFileSize(path, file.get(), &size_bytes));
  if (size_bytes > max_bytes) {
    return Mismatch(reason::FILE_UNREADABLE, path,
                    "at most " + std::to_string(max_bytes) + " bytes",
                    std::to_string(size_bytes) + " bytes");
  }
  Container data(static_cast<std::size_t>(size_bytes), typename Container::value_type{});
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t got = read(file.get(), data.data() + done, data.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadError(path, errno);
    if (got == 0) {
      return Mismatch(reason::FILE_UNREADABLE, path, std::to_string(data.size()) + " bytes",
                      std::to_string(done) + " bytes: the file shrank while it was read");
    }
    done += static_cast<std::size_t>(got);
  }
  return data;
}

int WriteAll(int fd, std::span<const std::uint8_t> data) {
  while (!data.empty()) {
    const ssize_t put = write(fd, data.data(), data.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    data = data.subspan(static_cast<std::size_t>(put));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Status CannotWrite(const std::string& path, const std::error_code& error) {
  return FailedPrecondition(reason::FILE_UNWRITABLE,
                            "cannot write " + path + ": " + error.message())
      .WithField(path);
}

StatusOr<std::int64_t> FileSizeBytes(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ReadError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Mismatch(reason::FILE_UNREADABLE, path, "a regular file", "a folder or device");
  }
  return static_cast<std::int64_t>(info.st_size);
}

StatusOr<std::vector<std::uint8_t>> ReadFileBytes(const std::string& path, std::int64_t max_bytes) {
  return ReadAll<std::vector<std::uint8_t>>(path, max_bytes);
}

StatusOr<std::string> ReadTextFile(const std::string& path, std::int64_t max_bytes) {
  return ReadAll<std::string>(path, max_bytes);
}

Status WriteFileAtomic(const std::string& path, std::span<const std::uint8_t> data) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary =
      path + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".partial";
  int error = 0;
  {
    const FileDescriptor file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return WriteError(path, errno);
    error = WriteAll(file.get(), data);
  }
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return WriteError(path, error);
  }
  return Status::Ok();
}

Status WriteFileAtomic(const std::string& path, std::string_view text) {
  return WriteFileAtomic(
      path, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace interlacer
