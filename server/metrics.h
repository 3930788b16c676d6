#pragma once

/// Counters and histograms of the server in Prometheus form; the only user of prometheus-cpp.
///
/// No label carries a request id, a peer or a scene. Thread-safe. Errors of Expose:
/// INVALID_ARGUMENT CONFIG_INVALID when the address cannot be bound.

#include <cstdint>
#include <memory>
#include <string>

#include "common/scene.h"
#include "common/status.h"
#include "server/call_record.h"
#include "server/server_state.h"

namespace interlacer {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void SetBuildInfo(const std::string& version, const std::string& build_id,
                    const std::string& device);
  void SetState(ServerState state);
  void SetQueue(int queue_length, int active_calls);
  void SetScenes(int count, std::int64_t bytes);
  /// Messages since the start that a recording lacks.
  void SetUnrecorded(std::int64_t count);
  /// Whether changed files of TLS are no good, so that the old ones serve until they expire.
  void SetTlsFilesStale(bool is_stale);
  /// `cause` is "expired", "memory" or "deleted".
  void CountSceneEviction(const std::string& cause);
  /// Updates request counter, durations by stage, sizes and cancellations.
  void CountCall(const CallRecord& record, const Status& status);
  /// Counts a call that was counted as a success but whose client did not read it to the end.
  void CountLostResponse();
  /// Counts a call or a connection that was refused before a method heard of it.
  void CountRefusal(const Status& status);
  void CountStep(const std::string& model_name, double seconds);
  /// What a control call may have to wait for.
  void ObserveUnit(const std::string& model_name, double seconds);
  void CountCandidate(const std::string& model_name);
  void CountPixels(const std::string& model_name, std::int64_t pixels);
  void ObserveScene(const SceneReport& report);

  /// Serves `http://address/metrics`; port 0 takes a free one.
  Status Expose(const std::string& address);
  /// All metrics as text, as returned to a scrape.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace interlacer
