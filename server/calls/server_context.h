#pragma once

/// References to the parts of one running server, shared by the handlers. As thread-safe as these
/// parts.

#include <string>

#include "common/status.h"
#include "server/call_record.h"
#include "server/calls/call_registry.h"
#include "server/calls/decode_pool.h"
#include "server/calls/device_worker.h"
#include "server/calls/frame_pool.h"
#include "server/calls/memory_budget.h"
#include "server/calls/response_sink.h"
#include "server/calls/scene_store.h"
#include "server/flight_recorder.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/model_statistics.h"
#include "server/models/model_registry.h"
#include "server/server_state.h"

namespace interlacer {

struct ServerContext {
  const Limits& limits;
  /// Random identifier of the process.
  const std::string instance_id;
  ServerStateMachine& state;
  ModelRegistry& models;
  DeviceWorker& worker;
  DecodePool& decoders;
  FramePool& frames;
  MemoryBudget& memory;
  Metrics& metrics;
  ModelStatistics& statistics;
  CallRegistry& calls;
  SceneStore& scenes;

  /// Null unless calls are recorded.
  FlightRecorder* recorder = nullptr;

  /// Updates the metrics for a finished call before its status is sent; a lost device changes the
  /// state of the server. The log line (LogCall) follows after the status, so that no client waits
  /// for it.
  void Count(const CallRecord& record, const Status& status) const;
  /// Ends a call that was never started: counts it, sends its status, logs it.
  void Refuse(const CallRecord& record, const Status& status, ResponseSink* sink) const;
};

}  // namespace interlacer
