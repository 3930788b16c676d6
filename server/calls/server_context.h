#pragma once

/// What the handlers share: references to the parts of one running server. Thread-safe as its
/// parts.

#include <functional>
#include <string>

#include "common/status.h"
#include "server/call_record.h"
#include "server/calls/call_registry.h"
#include "server/calls/decode_pool.h"
#include "server/calls/device_worker.h"
#include "server/calls/frame_pool.h"
#include "server/calls/memory_budget.h"
#include "server/calls/response_sink.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/models/model_registry.h"
#include "server/server_state.h"

namespace interlacer {

struct ServerContext {
  const Limits& limits;
  /// Random for each process.
  const std::string instance_id;
  ServerStateMachine& state;
  ModelRegistry& models;
  DeviceWorker& worker;
  DecodePool& decoders;
  FramePool& frames;
  MemoryBudget& memory;
  Metrics& metrics;
  CallRegistry& calls;

  /// Metrics of a finished call, before its status leaves; a lost device changes the state of the
  /// server. The log line (LogCall) follows when the status is on its way: nobody waits for it.
  void Count(const CallRecord& record, const Status& status) const;
  /// The whole end of a call that was never started: counted, answered, logged.
  void Refuse(const CallRecord& record, const Status& status, ResponseSink* sink) const;
};

}  // namespace interlacer
