#include "client/recorder.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "common/file_io.h"
#include "proto/recording.h"

namespace interlacer {

StatusOr<std::shared_ptr<Recorder>> Recorder::Open(const std::string& path,
                                                   std::int64_t max_bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return CannotWrite(path, {errno, std::generic_category()});
  return std::shared_ptr<Recorder>(new Recorder(std::move(file), max_bytes));
}

void Recorder::Write(std::uint64_t call, std::string_view name, const std::string& bytes) {
  const std::string head = recording::CallRecord(call) + recording::RecordHead(name, bytes.size());
  const auto size = static_cast<std::int64_t>(head.size() + bytes.size());
  const std::lock_guard lock(mutex_);
  // For good: a record has an end, and no holes before it.
  if (size > max_bytes_ - written_bytes_) file_.close();
  if (!file_ || !file_.is_open()) {
    ++dropped_count_;
    return;
  }
  file_.write(head.data(), static_cast<std::streamsize>(head.size()));
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file_.flush();
  written_bytes_ += size;
  if (!file_) ++dropped_count_;
}

}  // namespace interlacer
