#include "server/flight_recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/log.h"
#include "google/rpc/status.pb.h"
#include "proto/recording.h"
#include "server/convert/grpc_status.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "flight-";
constexpr char kSuffix[] = ".rec";
/// Of the cap: how much goes at once when there is no more room.
constexpr std::int64_t kFilesOfCap = 8;
constexpr std::int64_t kMinMaxBytes = 1 << 20;
/// What may wait for the disk.
constexpr std::int64_t kMaxWaitingBytes = std::int64_t{256} << 20;
constexpr std::chrono::seconds kLastWrites(2);

std::int64_t SizeOf(const FlightMessage& message) {
  return static_cast<std::int64_t>(message.bytes.Length());
}

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

/// Recordings in the folder, those written last at the end: names of servers that began in the same
/// second say nothing of their order.
std::vector<fs::path> ListRecordings(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    std::error_code gone;
    files.emplace_back(fs::last_write_time(it->path(), gone), it->path());
  }
  std::sort(files.begin(), files.end());
  std::vector<fs::path> paths;
  for (auto& [time, path] : files) paths.push_back(std::move(path));
  return paths;
}

/// The reason why nothing can be written there, or none.
std::error_code TryFolder(const fs::path& folder, const std::string& instance_id) {
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  if (error) return error;
  if (!fs::is_directory(folder, error)) return std::make_error_code(std::errc::not_a_directory);
  const fs::path probe = folder / (".probe-" + instance_id);
  if (!std::ofstream(probe)) return std::make_error_code(std::errc::permission_denied);
  fs::remove(probe, error);
  return error;
}

}  // namespace

class FlightRecorder::Writer {
 public:
  Writer(fs::path folder, std::int64_t max_bytes, std::string instance_id,
         std::function<std::vector<FlightMessage>()> describe)
      : folder_(std::move(folder)),
        max_bytes_(max_bytes),
        instance_id_(std::move(instance_id)),
        describe_(std::move(describe)) {}

  std::uint64_t NextCallNumber() {
    std::lock_guard lock(mutex_);
    return ++call_count_;
  }

  void CountLost() { ++lost_count_; }
  std::int64_t lost_count() const { return lost_count_; }

  /// False where the message is left out, which is not counted yet.
  bool Add(FlightMessage message) {
    const std::int64_t bytes = SizeOf(message);
    {
      std::lock_guard lock(mutex_);
      if (waiting_bytes_ + bytes <= kMaxWaitingBytes && bytes <= max_bytes_ / kFilesOfCap) {
        waiting_bytes_ += bytes;
        waiting_.push_back(std::move(message));
        changed_.notify_all();
        return true;
      }
    }
    if (!has_left_out_.exchange(true)) {
      Log(LogLevel::kWarning, "the flight recorder leaves calls out",
          {{"message_bytes", std::to_string(bytes)},
           {"most_bytes", std::to_string(max_bytes_ / kFilesOfCap)}});
    }
    return false;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) break;
      const FlightMessage message = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Write(message);
      lock.lock();
      waiting_bytes_ -= SizeOf(message);
    }
    is_done_ = true;
    changed_.notify_all();
  }

  /// True once everything is written.
  bool Stop() {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kLastWrites, [this] { return is_done_; });
    is_abandoned_ = !is_done_;
    return is_done_;
  }

 private:
  void Write(const FlightMessage& message) {
    const bool is_full = file_bytes_ + SizeOf(message) > max_bytes_ / kFilesOfCap;
    const bool is_first = !file_.is_open() || is_full;
    if (is_first) BeginFile();
    Append(message);
    file_.flush();
    if (file_.good()) return;
    // The stream would take nothing more, also where there is room again.
    file_.close();
    std::error_code error;
    if (is_first) fs::remove(path_, error);
    CountLost();
    if (has_failed_) return;
    has_failed_ = true;
    Log(LogLevel::kWarning, "the flight recorder cannot write", {{"folder", folder_.string()}});
  }

  void Append(const FlightMessage& message) {
    std::string head;
    if (message.call_number != 0) head = recording::CallRecord(message.call_number);
    head += recording::RecordHead(message.name, static_cast<std::uint64_t>(SizeOf(message)));
    file_.write(head.data(), static_cast<std::streamsize>(head.size()));
    std::vector<grpc::Slice> slices;
    if (!message.bytes.Dump(&slices).ok()) slices.clear();
    for (const grpc::Slice& slice : slices) {
      file_.write(reinterpret_cast<const char*>(slice.begin()),
                  static_cast<std::streamsize>(slice.size()));
    }
    file_bytes_ += static_cast<std::int64_t>(head.size()) + SizeOf(message);
  }

  void BeginFile() {
    file_.close();
    file_.clear();
    MakeRoom();
    char number[16];
    std::snprintf(number, sizeof number, "%06d", file_count_++);
    const std::string name =
        kPrefix + TimeText() + "-" + instance_id_.substr(0, 8) + "-" + number + kSuffix;
    path_ = folder_ / name;
    // A stream would make it with the rights that the umask leaves.
    const int descriptor = open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (descriptor >= 0) close(descriptor);
    file_.open(path_, std::ios::binary | std::ios::trunc);
    file_bytes_ = 0;
    for (const FlightMessage& message : Describe()) Append(message);
  }

  /// The lock keeps the server, which describes itself, until it has done so.
  std::vector<FlightMessage> Describe() {
    std::lock_guard lock(mutex_);
    return is_abandoned_ ? std::vector<FlightMessage>() : describe_();
  }

  void MakeRoom() {
    const std::vector<fs::path> files = ListRecordings(folder_);
    std::error_code error;
    const auto size_of = [&](const fs::path& file) {
      const std::uintmax_t bytes = fs::file_size(file, error);
      return error ? 0 : static_cast<std::int64_t>(bytes);
    };
    std::int64_t bytes = max_bytes_ / kFilesOfCap;  // of the file that begins
    for (const fs::path& file : files) bytes += size_of(file);
    for (std::size_t i = 0; i < files.size() && bytes > max_bytes_; ++i) {
      bytes -= size_of(files[i]);
      fs::remove(files[i], error);
    }
  }

  const fs::path folder_;
  const std::int64_t max_bytes_;
  const std::string instance_id_;
  const std::function<std::vector<FlightMessage>()> describe_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FlightMessage> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::uint64_t call_count_ = 0;
  bool is_stopping_ = false, is_done_ = false, is_abandoned_ = false;

  std::atomic<bool> has_left_out_{false};
  std::atomic<std::int64_t> lost_count_{0};

  // Of the thread alone.
  fs::path path_;
  std::ofstream file_;
  std::int64_t file_bytes_ = 0;
  int file_count_ = 0;
  bool has_failed_ = false;
};

StatusOr<std::unique_ptr<FlightRecorder>> FlightRecorder::Open(
    const std::string& folder, std::int64_t max_bytes, const std::string& instance_id,
    std::function<std::vector<FlightMessage>()> describe) {
  if (max_bytes < kMinMaxBytes) {
    return Mismatch(reason::CONFIG_INVALID, "record-bytes",
                    std::to_string(kMinMaxBytes) + " or more", std::to_string(max_bytes));
  }
  if (const std::error_code error = TryFolder(folder, instance_id)) {
    return Mismatch(reason::CONFIG_INVALID, "record-dir", "a folder that can be written",
                    folder + ": " + error.message());
  }
  return std::unique_ptr<FlightRecorder>(new FlightRecorder(
      std::make_shared<Writer>(folder, max_bytes, instance_id, std::move(describe))));
}

FlightRecorder::FlightRecorder(std::shared_ptr<Writer> writer)
    : writer_(std::move(writer)), thread_([writer = writer_] { writer->Run(); }) {}

bool FlightRecorder::TryFinish() { return writer_->Stop(); }

std::int64_t FlightRecorder::lost_count() const { return writer_->lost_count(); }

FlightRecorder::~FlightRecorder() {
  if (TryFinish()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

FlightRecorder::Call::Call(FlightRecorder* recorder, std::string method,
                           const grpc::ByteBuffer& request)
    : recorder_(recorder),
      method_(std::move(method)),
      number_(recorder->writer_->NextCallNumber()) {
  Add("interlacer.v1." + method_ + "Request", request);
}

void FlightRecorder::Call::Add(std::string name, const grpc::ByteBuffer& bytes) {
  is_left_out_ = is_left_out_ || !recorder_->writer_->Add({number_, std::move(name), bytes});
  if (is_left_out_) recorder_->writer_->CountLost();
}

void FlightRecorder::Call::AddResponse(const grpc::ByteBuffer& response) {
  Add("interlacer.v1." + method_ + "Response", response);
}

void FlightRecorder::Call::AddError(const Status& status) {
  const grpc::Status wire = ToGrpcStatus(status);
  google::rpc::Status message;
  message.ParseFromString(wire.error_details());
  message.set_code(wire.error_code());
  message.set_message(wire.error_message());
  const grpc::Slice slice(message.SerializeAsString());
  Add("google.rpc.Status", grpc::ByteBuffer(&slice, 1));
}

}  // namespace interlacer
