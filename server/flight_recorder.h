#pragma once

/// Keeps the last requests and answers of predictions on disk, with what is needed to repeat them.
///
/// Files `flight-TIME-INSTANCE-NUMBER.rec` in one folder, in the format of proto/recording.h; each
/// begins with GetServerInfo and GetModelMetadata of every model, so that build, weights and
/// configuration are known. All files together, those of earlier servers too, stay below the cap:
/// the oldest go first. A request without an id is given one in the record ("flight-7"), and so are
/// its answers. Recording never makes a call wait or fail: bytes are written by a thread of its
/// own, and what a slow disk cannot take is left out and counted.
/// Errors of Open: INVALID_ARGUMENT CONFIG_INVALID naming the option. Threads: any.

#include <grpcpp/support/byte_buffer.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// A message of interlacer.v1 or google.rpc and what is put behind its bytes.
struct FlightMessage {
  std::string name;
  grpc::ByteBuffer bytes;
  std::string suffix{};
};

class FlightRecorder {
 public:
  /// Makes the folder. `describe` gives the messages at the head of a file; it is called by the
  /// recorder's thread, each time a file begins.
  static StatusOr<std::unique_ptr<FlightRecorder>> Open(
      const std::string& folder, std::int64_t max_bytes, const std::string& instance_id,
      std::function<std::vector<FlightMessage>()> describe);
  /// Writes what is waiting.
  ~FlightRecorder();

  /// One call: its messages, in the order in which they come.
  class Call {
   public:
    /// `method` is that of the service: "PredictRollout".
    Call(FlightRecorder* recorder, const std::string& method, std::string request_id,
         const grpc::ByteBuffer& request);
    void AddResponse(const grpc::ByteBuffer& response);
    /// An error that the client gets.
    void AddError(const Status& status);

   private:
    FlightRecorder* recorder_;
    std::string method_, request_id_;
  };

  std::int64_t dropped_count() const;

 private:
  FlightRecorder(std::filesystem::path folder, std::int64_t max_bytes, std::string instance_id,
                 std::function<std::vector<FlightMessage>()> describe);
  void Add(FlightMessage message);
  void Run();
  void Write(const FlightMessage& message);
  void Append(const FlightMessage& message);
  void BeginFile();
  void MakeRoom();
  std::string NextCallId();

  const std::filesystem::path folder_;
  const std::int64_t max_bytes_;
  const std::string instance_id_;
  const std::function<std::vector<FlightMessage>()> describe_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FlightMessage> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::int64_t dropped_count_ = 0;
  std::int64_t call_count_ = 0;
  bool is_stopping_ = false;

  // Of the thread alone.
  std::ofstream file_;
  std::int64_t file_bytes_ = 0;
  int file_count_ = 0;
  bool has_failed_ = false;

  std::thread thread_;
};

}  // namespace interlacer
