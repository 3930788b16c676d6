#include "data/importers/frame_spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "common/file_io.h"

namespace interlacer {

StatusOr<std::unique_ptr<FrameSpool>> FrameSpool::Create(const std::string& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error);
  while (!std::filesystem::is_directory(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  std::unique_ptr<FrameSpool> spool(new FrameSpool(place.string()));
  std::string name = (place / ".interlacer-frames-XXXXXX").string();
  spool->descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  if (spool->descriptor_ < 0) {
    return CannotWrite(name, std::error_code(errno, std::generic_category()));
  }
  unlink(name.c_str());
  return spool;
}

FrameSpool::~FrameSpool() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status FrameSpool::Append(std::span<const std::uint8_t> frame) {
  std::int64_t place = ends_.empty() ? 0 : ends_.back();
  while (!frame.empty()) {
    const ssize_t count = pwrite(descriptor_, frame.data(), frame.size(), place);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotWrite(folder_, std::error_code(errno, std::generic_category()));
    frame = frame.subspan(static_cast<std::size_t>(count));
    place += count;
  }
  ends_.push_back(place);
  return Status::Ok();
}

StatusOr<std::vector<std::uint8_t>> FrameSpool::Read(std::int64_t frame) const {
  const auto index = static_cast<std::size_t>(frame);
  std::int64_t place = index == 0 ? 0 : ends_[index - 1];
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(ends_[index] - place));
  for (std::span<std::uint8_t> rest = bytes; !rest.empty();) {
    const ssize_t count = pread(descriptor_, rest.data(), rest.size(), place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return InvalidArgument(reason::FILE_UNREADABLE,
                             "decoded frames in " + folder_ + " cannot be read back");
    }
    rest = rest.subspan(static_cast<std::size_t>(count));
    place += count;
  }
  return bytes;
}

}  // namespace interlacer
