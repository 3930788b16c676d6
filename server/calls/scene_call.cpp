#include "server/calls/scene_call.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "common/camera_skew.h"
#include "common/duration.h"

namespace interlacer {
namespace {

/// Raw frames up to this size are decoded on gRPC's thread: it takes less time than waking a thread
/// of the pool, and far less than the delay that a health check tolerates.
constexpr std::int64_t kMaxDecodedAtOnceBytes = 4 << 20;

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Status SlowReader(std::string message) {
  return Status(StatusCode::kCancelled, reason::SLOW_READER, std::move(message));
}

}  // namespace

SceneCall::SceneCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
                     ResponseSink* sink)
    : server_(server),
      record_(std::move(record)),
      admitted_(std::move(admitted)),
      sink_(sink),
      call_limit_(record_.start + Seconds(server.limits.max_call_duration_s)) {}

void SceneCall::Start() {
  sink_->SetListener(shared_from_this());
  const bool is_decoded_at_once = IsDecodedInline();
  Status status = server_.worker.CheckRoom(priority());
  if (status.ok() && is_decoded_at_once) {
    is_decode_claimed_ = true;
    status = Decode();
  }
  // From here on another thread may run or cancel the call.
  if (status.ok()) status = server_.worker.Submit(shared_from_this(), is_decoded_at_once);
  if (!status.ok()) {
    End(std::move(status));
  } else if (!is_decoded_at_once) {
    server_.decoders.Post(priority(), this, [self = shared_from_this()] { self->DecodeInPool(); });
    // The call may have ended before its task was there to be removed.
    if (is_over_) server_.decoders.Remove(this);
  }
}

bool SceneCall::IsDecodedInline() const {
  return admitted_.checked.is_raw && admitted_.checked.decoded_bytes <= kMaxDecodedAtOnceBytes;
}

Status SceneCall::Decode() {
  const Clock::time_point start = Clock::now();
  if (admitted_.kept != nullptr) {
    decoded_time_ = start;
    return Status::Ok();
  }
  decoded_ = server_.frames.Take();
  Status status = DecodeSceneInput(admitted_.scene_input, admitted_.payloads,
                                   admitted_.model->metadata, is_over_, &decoded_);
  FreeRequest();
  if (status.ok()) CompleteWindow(&decoded_);
  decoded_time_ = Clock::now();
  decode_s_ = SecondsBetween(start, decoded_time_);
  if (!admitted_.checked.is_raw && status.ok()) {
    server_.decoders.NoteCost(admitted_.checked.decoded_bytes, decode_s_);
  }
  if (status.ok()) return status;
  return std::move(status.WithField(MessageField(status.field())));
}

void SceneCall::FreeRequest() {
  admitted_.scene_input.Clear();
  admitted_.payloads = PixelPayloads();
}

void SceneCall::DecodeInPool() {
  if (is_decode_claimed_.exchange(true)) return;
  if (Status status = Decode(); status.ok()) {
    server_.worker.Wake(this);
  } else {
    server_.worker.Cancel(this, std::move(status));
  }
}

double SceneCall::RemainingCostS() const {
  return std::clamp(admitted_.cost_s - used_s_, 0.0,
                    std::max(SecondsBetween(Clock::now(), LifeEnd()), 0.0));
}

Status SceneCall::CheckAlive(Clock::time_point now) const {
  if (now >= admitted_.deadline) {
    return DeadlineExceeded(reason::DEADLINE_PASSED, "the deadline of the client has passed");
  }
  if (now >= call_limit_) {
    return DeadlineExceeded(reason::CALL_TOO_LONG, "the call ran longer than the server allows")
        .WithMetadata("limit", std::to_string(server_.limits.max_call_duration_s));
  }
  const auto stalled_since = sink_->stalled_since();
  if (stalled_since && now >= *stalled_since + Seconds(server_.limits.slow_reader_timeout_s)) {
    return SlowReader("the client did not read for " +
                      std::to_string(server_.limits.slow_reader_timeout_s) + " s");
  }
  return Status::Ok();
}

Clock::time_point SceneCall::NextCheck() const {
  Clock::time_point next = LifeEnd();
  if (const auto stalled_since = sink_->stalled_since()) {
    next = std::min(next, *stalled_since + Seconds(server_.limits.slow_reader_timeout_s));
  }
  return next;
}

StatusOr<DeviceJob::Progress> SceneCall::RunUnit() {
  const Clock::time_point start = Clock::now();
  NoteFirstUnit();
  if (blocked_since_) {
    record_.durations.blocked_s += SecondsBetween(*blocked_since_, start);
    blocked_since_.reset();
  }
  if (!sink_->HasRoom()) {
    blocked_since_ = start;
    return Progress::kWaiting;
  }
  Status status = RunNext();
  // The allocator has emptied its cache by itself before it said this.
  while (status.reason() == reason::DEVICE_OUT_OF_MEMORY && server_.scenes.DropIdle()) {
    status = RunNext();
  }
  const double unit_s = SecondsBetween(start, Clock::now());
  used_s_ = used_s_ + unit_s;
  admitted_.model->costs->NoteUnit(unit_s);
  server_.metrics.ObserveUnit(record_.model_name, unit_s);
  if (!status.ok()) return status;
  return last_message_ ? Progress::kDone : Progress::kReady;
}

void SceneCall::NoteFirstUnit() {
  if (has_run_.exchange(true)) return;
  record_.durations.decode_s = decode_s_;
  record_.durations.queue_s = SecondsBetween(decoded_time_, Clock::now());
}

Status SceneCall::RunNext() {
  if (is_begun_) return RunLifted();
  if (scene_ == nullptr && admitted_.kept != nullptr) scene_ = admitted_.kept->scene;
  if (scene_ == nullptr) INTERLACER_RETURN_IF_ERROR(Lift());
  INTERLACER_RETURN_IF_ERROR(OnLifted());
  is_begun_ = true;
  return Status::Ok();
}

Status SceneCall::Lift() {
  const Clock::time_point start = Clock::now();
  auto scene = LiftWindow(decoded_);
  if (scene.status().reason() == reason::DEVICE_OUT_OF_MEMORY) return scene.status();
  settings_.seed = decoded_.seed;
  settings_.workspace = decoded_.workspace;
  settings_.near_m = decoded_.near_m;
  settings_.far_m = decoded_.far_m;
  server_.frames.Give(std::exchange(decoded_, {}));
  if (!scene.ok()) {
    Status status = scene.status();
    if (status.field().empty()) return status;
    return std::move(status.WithField(RequestField(status.field())));
  }
  scene_ = *std::move(scene);
  const Clock::time_point now = Clock::now();
  record_.durations.lift_s = SecondsBetween(start, now);
  if (LiftsAll()) {
    admitted_.model->costs->NoteLift(admitted_.checked.newest_pixel_count, record_.durations.lift_s,
                                     now);
  }
  report_ = MakeReport();
  server_.metrics.ObserveScene(report_);
  return Status::Ok();
}

std::string SceneCall::RequestField(const std::string& field) const {
  return admitted_.field + "." + FieldInRequest(admitted_.checked, field);
}

std::string SceneCall::MessageField(const std::string& field) const {
  return field.empty() ? admitted_.field : admitted_.field + "." + field;
}

SceneContent SceneCall::Content() const {
  return {admitted_.model, scene_, admitted_.checked, settings_};
}

SceneReport SceneCall::MakeReport() const {
  SceneReport report = scene_->report();
  const CheckedScene& checked = admitted_.checked;
  // The predictor does not know the configured limit, nor when depth was captured.
  report.camera_skew_s = checked.camera_skew_s;
  std::erase_if(report.findings,
                [](const Finding& finding) { return finding.reason == kCameraSkewHigh; });
  const std::string skew_field =
      "observations[" + std::to_string(checked.skewed_observation) + "].views";
  if (auto skew =
          FindCameraSkew(report.camera_skew_s, server_.limits.max_camera_skew_s, skew_field)) {
    report.findings.push_back(*std::move(skew));
  }
  for (Finding& finding : report.findings) {
    if (finding.field.empty()) continue;
    finding.field = RequestField(finding.field);
  }
  return report;
}

void SceneCall::End(Status status) {
  is_over_ = true;
  const bool is_never_decoded = !is_decode_claimed_.exchange(true);
  if (is_never_decoded) {
    server_.decoders.Remove(this);
    FreeRequest();
  }
  // gRPC releases a call some time after its status was sent, on a thread of its own; calls that
  // arrive meanwhile must not be charged for it. A failed call may still be in the decoder.
  if (status.ok() || is_never_decoded) admitted_.memory = {};
  // The scene's time to live runs from here; its state is freed on the worker's thread.
  if (admitted_.kept != nullptr) admitted_.kept.reset();
  record_.response_bytes = sink_->sent_bytes();
  if (last_message_) record_.response_bytes += static_cast<std::int64_t>(last_message_->Length());
  is_answered_ = status.ok();
  // A reset after the last unit finds the call answered, or is found here.
  if (status.ok() && is_reset_ && is_answered_.exchange(false)) {
    status = SlowReader("the client did not read the last messages");
  }
  if (status.code() == StatusCode::kCancelled) {
    record_.cancelled_where = status.reason() == reason::SLOW_READER ? "slow_reader"
                              : has_run_                             ? "running"
                                                                     : "queue";
  }
  server_.Count(record_, status);
  if (status.reason() == reason::SLOW_READER) sink_->Abort();
  if (status.ok()) {
    sink_->FinishWith(*std::move(last_message_));
  } else {
    sink_->Finish(status);
  }
  LogCall(record_, status);
}

void SceneCall::OnClientGone() {
  Status status = CheckAlive(Clock::now());
  if (status.ok() && is_reset_) status = SlowReader("the client did not read");
  if (status.ok()) status = Cancelled("the client cancelled the call or went away");
  server_.worker.Cancel(this, std::move(status));
}

void SceneCall::OnReset() {
  // The failed write of a reset comes before the cancellation, and with it the wait is forgotten.
  is_reset_ = true;
  if (!is_answered_.exchange(false)) return;
  server_.metrics.CountLostResponse();
  LogCall(record_, SlowReader("the client did not read the last messages"));
}

void SceneCall::OnMessageSent() { server_.worker.Wake(this); }

}  // namespace interlacer
