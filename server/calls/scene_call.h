#pragma once

/// Common part of calls over a scene: decodes the frames of the request and lifts them on the
/// device, or takes a scene that was kept; then runs the units of the method.
///
/// Lifetime: Start (queue slot and decoding; small raw frames at once, others in the pool) -
/// RunUnit on the worker's thread - End, exactly once. The sink is used by RunUnit and End only.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/scene.h"
#include "common/status.h"
#include "server/call_record.h"
#include "server/calls/device_worker.h"
#include "server/calls/memory_budget.h"
#include "server/calls/response_sink.h"
#include "server/calls/server_context.h"
#include "server/convert/scene_input.h"
#include "server/models/model_registry.h"

namespace interlacer {

/// The result of admission (server/calls/admission.h).
struct AdmittedScene {
  const ServedModel* model = nullptr;
  wire::SceneInput scene_input;
  PixelPayloads payloads;
  /// Field path of scene_input in the request.
  std::string field;
  CheckedScene checked;
  /// The scene that the request names; then there are no frames, and no field.
  SceneLease kept;
  Clock::time_point deadline;
  int priority = 0;
  /// Estimated device time of the whole call in seconds.
  double cost_s = 0;
  /// Host memory of the call beside its frames, and beside that within a unit of its work.
  std::int64_t extra_bytes = 0, unit_bytes = 0;
  MemoryBudget::Reservation memory;
};

class SceneCall : public DeviceJob,
                  public SinkListener,
                  public std::enable_shared_from_this<SceneCall> {
 public:
  SceneCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
            ResponseSink* sink);

  /// Takes a queue slot and starts decoding; without a slot the call ends at once.
  void Start();

  int priority() const override { return admitted_.priority; }
  double RemainingCostS() const override;
  Status CheckAlive(Clock::time_point now) const override;
  Clock::time_point NextCheck() const override;
  StatusOr<Progress> RunUnit() override;
  void FreeDeviceState() override { scene_.reset(); }
  void End(Status status) override;

  void OnClientGone() override;
  void OnMessageSent() override;
  /// The call is to end as SLOW_READER; a counted response is lost after all.
  void OnReset() override;

 protected:
  /// Runs once, in the unit that lifted the scene or took the one that was kept; again if the
  /// device had no memory for it, which is true of all units.
  virtual Status OnLifted() = 0;
  /// Runs one unit after the lift.
  virtual Status RunLifted() = 0;
  /// Adds to decoded frames what the request does not carry. On the decoder's thread.
  virtual void CompleteWindow(SceneInput* /*decoded*/) const {}
  /// On the worker's thread.
  virtual StatusOr<std::shared_ptr<const Scene>> LiftWindow(const SceneInput& decoded) const {
    return predictor()->Lift(decoded);
  }
  /// Whether LiftWindow does all of the work whose cost is told and estimated.
  virtual bool LiftsAll() const { return true; }
  /// Path in the request of a field of the scene that is lifted, and of the message that is
  /// decoded.
  virtual std::string RequestField(const std::string& field) const;
  virtual std::string MessageField(const std::string& field) const;

  const ServerContext& server() const { return server_; }
  const AdmittedScene& admitted() const { return admitted_; }
  Predictor* predictor() const { return admitted_.model->predictor.get(); }
  CallRecord& record() { return record_; }
  void Send(grpc::ByteBuffer message) { sink_->Send(std::move(message)); }
  /// Ends the call with the current unit; message and status are sent together.
  void SendLast(grpc::ByteBuffer message) { last_message_ = std::move(message); }
  const std::shared_ptr<const Scene>& scene() const { return scene_; }
  /// The predictor's report, with field paths from the root of the request; empty without a lift.
  const SceneReport& report() const { return report_; }
  /// The lifted scene and its facts, for those that keep it; valid in OnLifted.
  SceneContent Content() const;

 private:
  bool IsDecodedInline() const;
  /// The next unit: lift, start or later.
  Status RunNext();
  /// Decodes into decoded_; errors have field paths from the root of the request.
  Status Decode();
  /// Does nothing when the call has ended meanwhile.
  void DecodeInPool();
  /// Releases the undecoded frames.
  void FreeRequest();
  /// Leaves the decoded frames in place if the device had no memory.
  Status Lift();
  SceneReport MakeReport() const;
  void NoteFirstUnit();
  /// The earlier of the client's deadline and the limit of every call.
  Clock::time_point LifeEnd() const { return std::min(admitted_.deadline, call_limit_); }

  const ServerContext& server_;
  CallRecord record_;
  AdmittedScene admitted_;
  ResponseSink* const sink_;
  const Clock::time_point call_limit_;

  /// Set by the first of two: the decoder, which then reads the request, or the end of the call,
  /// which then frees it.
  std::atomic<bool> is_decode_claimed_{false};
  /// Set by End: the decoder stops at the next image.
  std::atomic<bool> is_over_{false};
  /// Written by the decoder before the job becomes ready.
  SceneInput decoded_;
  double decode_s_ = 0;
  Clock::time_point decoded_time_;

  std::shared_ptr<const Scene> scene_;
  /// Of the decoded request, without its frames.
  SceneInput settings_;
  SceneReport report_;
  /// Set once OnLifted has succeeded.
  bool is_begun_ = false;
  std::optional<grpc::ByteBuffer> last_message_;
  std::atomic<double> used_s_{0};
  std::atomic<bool> has_run_{false};
  /// True from the end of a successful call on; record_ does not change any more.
  std::atomic<bool> is_answered_{false};
  std::atomic<bool> is_reset_{false};
  std::optional<Clock::time_point> blocked_since_;
};

}  // namespace interlacer
