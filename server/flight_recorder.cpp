#include "server/flight_recorder.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>

#include "common/log.h"
#include "google/rpc/error_details.pb.h"
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
/// Fields of request_id.
constexpr std::uint32_t kRequestIdOfRequest = 2;
constexpr std::uint32_t kRequestIdOfResponse = 1;

std::int64_t SizeOf(const FlightMessage& message) {
  return static_cast<std::int64_t>(message.bytes.Length() + message.suffix.size());
}

/// Behind a serialised message it sets the field, whatever it was.
std::string RequestIdField(std::uint32_t number, const std::string& request_id) {
  std::string field;
  recording::AppendFieldHead(number, request_id.size(), &field);
  return field + request_id;
}

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

/// Recordings in the folder, the oldest first: their names begin with the time.
std::vector<fs::path> ListRecordings(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

StatusOr<std::unique_ptr<FlightRecorder>> FlightRecorder::Open(
    const std::string& folder, std::int64_t max_bytes, const std::string& instance_id,
    std::function<std::vector<FlightMessage>()> describe) {
  if (max_bytes < kMinMaxBytes) {
    return Mismatch(reason::CONFIG_INVALID, "record-bytes",
                    std::to_string(kMinMaxBytes) + " or more", std::to_string(max_bytes));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error) {
    const fs::path probe = fs::path(folder) / (".probe-" + instance_id);
    if (!std::ofstream(probe)) error = std::make_error_code(std::errc::permission_denied);
    std::error_code ignored;
    fs::remove(probe, ignored);
  }
  if (error) {
    return Mismatch(reason::CONFIG_INVALID, "record-dir", "a folder that can be written",
                    folder + ": " + error.message());
  }
  return std::unique_ptr<FlightRecorder>(
      new FlightRecorder(folder, max_bytes, instance_id, std::move(describe)));
}

FlightRecorder::FlightRecorder(fs::path folder, std::int64_t max_bytes, std::string instance_id,
                               std::function<std::vector<FlightMessage>()> describe)
    : folder_(std::move(folder)),
      max_bytes_(max_bytes),
      instance_id_(std::move(instance_id)),
      describe_(std::move(describe)),
      thread_([this] { Run(); }) {}

FlightRecorder::~FlightRecorder() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

FlightRecorder::Call::Call(FlightRecorder* recorder, const std::string& method,
                           std::string request_id, const grpc::ByteBuffer& request)
    : recorder_(recorder),
      method_(method),
      request_id_(request_id.empty() ? recorder->NextCallId() : std::move(request_id)) {
  recorder_->Add({"interlacer.v1." + method_ + "Request", request,
                  RequestIdField(kRequestIdOfRequest, request_id_)});
}

void FlightRecorder::Call::AddResponse(const grpc::ByteBuffer& response) {
  recorder_->Add({"interlacer.v1." + method_ + "Response", response,
                  RequestIdField(kRequestIdOfResponse, request_id_)});
}

void FlightRecorder::Call::AddError(const Status& status) {
  const grpc::Status wire = ToGrpcStatus(status);
  google::rpc::Status message;
  message.ParseFromString(wire.error_details());
  message.set_code(wire.error_code());
  message.set_message(wire.error_message());
  google::rpc::RequestInfo info;
  info.set_request_id(request_id_);
  message.add_details()->PackFrom(info);
  const grpc::Slice slice(message.SerializeAsString());
  recorder_->Add({"google.rpc.Status", grpc::ByteBuffer(&slice, 1)});
}

std::string FlightRecorder::NextCallId() {
  std::lock_guard lock(mutex_);
  return kPrefix + std::to_string(++call_count_);
}

std::int64_t FlightRecorder::dropped_count() const {
  std::lock_guard lock(mutex_);
  return dropped_count_;
}

void FlightRecorder::Add(FlightMessage message) {
  const std::int64_t bytes = SizeOf(message);
  {
    std::lock_guard lock(mutex_);
    if (waiting_bytes_ + bytes > kMaxWaitingBytes || bytes > max_bytes_ / kFilesOfCap) {
      ++dropped_count_;
      return;
    }
    waiting_bytes_ += bytes;
    waiting_.push_back(std::move(message));
  }
  changed_.notify_one();
}

void FlightRecorder::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const FlightMessage message = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Write(message);
    lock.lock();
    waiting_bytes_ -= SizeOf(message);
  }
}

void FlightRecorder::Write(const FlightMessage& message) {
  if (!file_.is_open() || file_bytes_ + SizeOf(message) > max_bytes_ / kFilesOfCap) BeginFile();
  Append(message);
  // A process that dies leaves all but its last message.
  file_.flush();
  if (file_.good() || has_failed_) return;
  has_failed_ = true;
  Log(LogLevel::kWarning, "the flight recorder cannot write", {{"folder", folder_.string()}});
}

void FlightRecorder::Append(const FlightMessage& message) {
  const std::string head =
      recording::RecordHead(message.name, static_cast<std::uint64_t>(SizeOf(message)));
  file_.write(head.data(), static_cast<std::streamsize>(head.size()));
  std::vector<grpc::Slice> slices;
  message.bytes.Dump(&slices).ok();
  for (const grpc::Slice& slice : slices) {
    file_.write(reinterpret_cast<const char*>(slice.begin()),
                static_cast<std::streamsize>(slice.size()));
  }
  file_.write(message.suffix.data(), static_cast<std::streamsize>(message.suffix.size()));
  file_bytes_ += static_cast<std::int64_t>(head.size()) + SizeOf(message);
}

void FlightRecorder::BeginFile() {
  file_.close();
  file_.clear();
  MakeRoom();
  char number[16];
  std::snprintf(number, sizeof number, "%06d", file_count_++);
  const fs::path path =
      folder_ / (kPrefix + TimeText() + "-" + instance_id_.substr(0, 8) + "-" + number + kSuffix);
  file_.open(path, std::ios::binary | std::ios::trunc);
  file_bytes_ = 0;
  for (const FlightMessage& message : describe_()) Append(message);
}

void FlightRecorder::MakeRoom() {
  std::vector<fs::path> files = ListRecordings(folder_);
  std::error_code error;
  std::int64_t bytes = max_bytes_ / kFilesOfCap;  // of the file that begins
  for (const fs::path& file : files) bytes += static_cast<std::int64_t>(fs::file_size(file, error));
  for (std::size_t i = 0; i < files.size() && bytes > max_bytes_; ++i) {
    bytes -= static_cast<std::int64_t>(fs::file_size(files[i], error));
    fs::remove(files[i], error);
  }
}

}  // namespace interlacer
