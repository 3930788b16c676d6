#pragma once

/// Repeats recorded predictions on a server and compares what comes back.
///
/// Requests are sent one after another in the order of the recording. Answers are equal when their
/// messages are, byte for byte, but for the durations of the summary. Calls over kept scenes cannot
/// be repeated, since the record has the id of a scene that is gone; they are counted. Errors that
/// depend on load, time or the client (CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED,
/// UNAVAILABLE) are not compared, nor are those that no call can be found for.
/// Errors: those of client/recording.h; UNAVAILABLE and the like where no server answers. Threads:
/// one replay at a time per channel.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/interlacer_client.h"
#include "common/status.h"

namespace interlacer {

struct ReplayOptions {
  std::string address;
  double deadline_s = 60;
  std::int64_t max_message_bytes = 64ll << 20;
  std::stop_token stop{};
  std::optional<TlsFiles> tls{};
};

struct ReplayedCall {
  std::string request_id, method;
  double duration_s = 0;
  std::string error;       ///< what the server said now; empty for an answer
  bool was_whole = false;  ///< whether the record holds the end of the call
  bool is_equal = false;   ///< of calls that were recorded whole
  std::string difference;  ///< where the answers part
};

struct ReplayReport {
  std::vector<ReplayedCall> calls;
  int kept_scene_count = 0;  ///< calls that were left out
  int broken_count = 0;      ///< requests that are no messages
  /// Weights of the models, by name, that the record names and that the server has.
  std::vector<std::pair<std::string, std::string>> recorded_weights, served_weights;
  /// The record was cut; what lies before was repeated.
  bool is_cut = false;
};

/// `on_call` after each.
StatusOr<ReplayReport> Replay(const std::string& path, const ReplayOptions& options,
                              const std::function<void(const ReplayedCall&)>& on_call);

}  // namespace interlacer
