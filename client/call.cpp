#include "client/call.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "client/channel.h"
#include "client/status_from_grpc.h"
#include "google/rpc/status.pb.h"

namespace interlacer {
namespace {

/// About thirty years: a longer deadline is none, and the clock's nanoseconds must hold it.
constexpr double kMaxDeadlineS = 1e9;

/// The library attends to a new connection while somebody waits for the channel, else every five
/// seconds: calls that fail at once would find a server that is back only after ten or more.
void AwaitConnection(grpc::Channel* channel, const std::stop_token& stop,
                     std::chrono::system_clock::time_point limit) {
  using Clock = std::chrono::system_clock;
  if (channel->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return;
  // The other half is for the call, which says UNAVAILABLE where there is still no server.
  const Clock::time_point now = Clock::now();
  limit = now + std::min<Clock::duration>((limit - now) / 2,
                                          std::chrono::milliseconds(kMaxConnectionWaitMs));
  while (!stop.stop_requested() && Clock::now() < limit) {
    const grpc_connectivity_state state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return;
    channel->WaitForStateChange(
        state, std::min<Clock::time_point>(limit, Clock::now() + std::chrono::milliseconds(50)));
  }
}

}  // namespace

Call::Call(const CallOptions& options, double default_deadline_s, const CallPlace& place)
    : place_(place),
      number_(place.recorder ? place.recorder->NewCall() : 0),
      deadline_s_(options.deadline_s == 0 ? default_deadline_s : options.deadline_s),
      on_stop_(options.stop, [this] { context_.TryCancel(); }) {
  context_.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::microseconds(std::llround(std::min(deadline_s_, kMaxDeadlineS) * 1e6)));
  context_.set_wait_for_ready(options.wait_for_ready);
  AwaitConnection(place.channel.get(), options.stop, context_.deadline());
}

void Call::Record(const google::protobuf::Message& message) const {
  if (!place_.recorder) return;
  place_.recorder->Write(number_, message.GetDescriptor()->full_name(),
                         message.SerializeAsString());
}

Status Call::Finish(const grpc::Status& status) const {
  if (!status.ok() && place_.recorder) {
    google::rpc::Status record;
    if (!record.ParseFromString(status.error_details()) || record.code() == 0) {
      record.set_code(status.error_code());
      record.set_message(status.error_message());
    }
    Record(record);
  }
  Status out = StatusFromGrpc(status);
  const bool is_unreachable = out.reason().empty() && (out.code() == StatusCode::kUnavailable ||
                                                       out.code() == StatusCode::kDeadlineExceeded);
  if (is_unreachable && !place_.proxy.empty()) {
    out = Status(out.code(), "",
                 out.message() + " (the environment sets " + place_.proxy +
                     ": the connection goes through that proxy unless no_proxy names the host)");
  }
  if (out.code() != StatusCode::kDeadlineExceeded || !out.reason().empty()) return out;
  return DeadlineExceeded("", "no answer within the deadline of " + std::to_string(deadline_s_) +
                                  " s: " + out.message())
      .WithMetadata("limit", std::to_string(deadline_s_));
}

Status CheckCallOptions(const CallOptions& options) {
  if (std::isfinite(options.deadline_s) && options.deadline_s >= 0) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, "deadline_s", "a positive number of seconds",
                  std::to_string(options.deadline_s));
}

}  // namespace interlacer
