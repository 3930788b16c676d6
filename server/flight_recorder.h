#pragma once

/// Keeps the last requests and answers of predictions on disk, with what is needed to repeat them.
///
/// Files `flight-TIME-INSTANCE-NUMBER.rec` in one folder, in the format of proto/recording.h; each
/// begins with GetServerInfo and GetModelMetadata of every model, so that build, weights and
/// configuration are known. All files together, those of earlier servers too, stay below the cap:
/// the oldest go first. After a write that failed, as on a full disk, the next message begins
/// another. Only the server's user may read them: they hold what the cameras saw.
/// Recording never makes a call wait or fail: bytes are written by a thread of its own; what a slow
/// disk cannot take, and messages above an eighth of the cap, are left out and counted, and so is
/// the rest of their call. Errors of Open: INVALID_ARGUMENT CONFIG_INVALID naming the option.
/// Threads: any.

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// A message of interlacer.v1 or google.rpc.
struct FlightMessage {
  std::uint64_t call_number = 0;  ///< 0: of no call
  std::string name;
  grpc::ByteBuffer bytes;
};

class FlightRecorder {
 public:
  /// Makes the folder. `describe` gives the messages at the head of a file; it is called by the
  /// recorder's thread, each time a file begins, and not after the destructor.
  static StatusOr<std::unique_ptr<FlightRecorder>> Open(
      const std::string& folder, std::int64_t max_bytes, const std::string& instance_id,
      std::function<std::vector<FlightMessage>()> describe);
  ~FlightRecorder();
  /// Writes what is waiting, for two seconds at most; what comes later is lost. Any thread.
  void Finish() { static_cast<void>(TryFinish()); }
  /// Messages that were left out or could not be written. Any thread.
  std::int64_t lost_count() const;

  /// One call: its messages, in the order in which they come. One thread at a time.
  class Call {
   public:
    /// `method` is that of the service: "PredictRollout".
    Call(FlightRecorder* recorder, std::string method, const grpc::ByteBuffer& request);
    void AddResponse(const grpc::ByteBuffer& response);
    /// An error that the client gets.
    void AddError(const Status& status);

   private:
    void Add(std::string name, const grpc::ByteBuffer& bytes);

    FlightRecorder* recorder_;
    std::string method_;
    std::uint64_t number_;
    bool is_left_out_ = false;
  };

 private:
  class Writer;
  /// True once everything is written.
  bool TryFinish();
  explicit FlightRecorder(std::shared_ptr<Writer> writer);

  /// Shared with the thread, which may outlive the recorder where a disk hangs.
  const std::shared_ptr<Writer> writer_;
  std::thread thread_;
};

}  // namespace interlacer
