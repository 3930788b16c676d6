#pragma once

/// One call on the wire: its deadline and waiting rule, the link from a stop request to its
/// cancellation, and a record of what went over the wire where the client keeps one. One thread.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "client/interlacer_client.h"
#include "client/recorder.h"
#include "common/status.h"

namespace google::protobuf {
class Message;
}

namespace interlacer {

/// What all calls of a client share.
struct CallPlace {
  /// The variable of the proxy that the channel may go through, or empty.
  std::string proxy;
  /// Null without a record.
  std::shared_ptr<Recorder> recorder;
  std::shared_ptr<grpc::Channel> channel;
};

class Call {
 public:
  /// `place` must outlive the call. Where the last connection failed, waits for a new one for as
  /// long as the longest pause between attempts, at most for half of the deadline.
  Call(const CallOptions& options, double default_deadline_s, const CallPlace& place);

  grpc::ClientContext* context() { return &context_; }
  /// Records a request before it is sent, an answer that came.
  void Record(const google::protobuf::Message& message) const;
  /// The server's status; one without a reason says what may have caused it.
  Status Finish(const grpc::Status& status) const;

 private:
  const CallPlace& place_;
  const std::uint64_t number_;  // in the record
  const double deadline_s_;
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> on_stop_;
};

/// Of the deadline.
Status CheckCallOptions(const CallOptions& options);

}  // namespace interlacer
