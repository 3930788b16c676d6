#pragma once

/// A client of the interlacer.v1.InterlacerService: plain structs in, plain structs out.
///
/// Every call has a deadline, which its error names. Messages may be 64 MiB in both directions.
/// Transient UNAVAILABLE answers are retried as client/service_config.json says, requests of any
/// size, but no update of a scene: its answer may be all that was lost. Nothing else is retried. A
/// connection that fails is tried again every second or so.
/// Errors: the server's Status with code, reason word, field path and metadata. Without a server:
/// UNAVAILABLE. An answer that is not what was asked for: those of client/convert/responses.h. The
/// caller's own mistakes: INVALID_ARGUMENT ARGUMENT_INVALID, those of client/convert/requests.h.
/// Threads: all methods may be called from several threads at once on one Client.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/image_packing.h"
#include "client/rollout_backend.h"
#include "client/server_info.h"
#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

class Recorder;

/// PEM files of a TLS connection: who may vouch for the server, and who this client is. A client
/// without a name leaves certificate and key empty.
struct TlsFiles {
  std::string authority;
  std::string certificate;
  std::string key;
};

struct ClientOptions {
  /// "127.0.0.1:50051", "[::1]:50051", "unix:/run/interlacer.sock" or "dns:///host:port".
  std::string address;
  std::int64_t max_message_bytes = 64ll << 20;
  /// Off in control loops, where a late answer is worth less than an early error.
  bool retry = true;
  /// Keeps what goes over the wire (client/recorder.h); null for none.
  std::shared_ptr<Recorder> recorder{};
  /// Without them the connection is not encrypted. They are read when the client is made.
  std::optional<TlsFiles> tls{};
};

enum class RequestPriority { kBackground, kNormal, kControl };

struct CallOptions {
  /// 0 takes kUnaryDeadlineS or kStreamDeadlineS.
  double deadline_s = 0;
  /// Waits for a connection until the deadline where UNAVAILABLE would come at once.
  bool wait_for_ready = false;
  /// Empty means the server's default model.
  std::string model_name;
  /// At most 64 of A-Z a-z 0-9 . _ -
  std::string request_id;
  RequestPriority priority = RequestPriority::kNormal;
  ImagePacking packing;
  /// A stop request cancels the call: CANCELLED.
  std::stop_token stop;
};

/// A scene that a server keeps.
struct SceneName {
  std::string scene_id;
  /// Of its frames, where they name one in place of the model's: the box of 16-bit positions.
  std::optional<Box> workspace;
};

struct CreatedScene {
  std::string scene_id;
  /// As granted, since the last use.
  double time_to_live_s = 0;
  SceneReport report;
};

/// One finished candidate.
struct PredictedCandidate {
  int index = 0;
  /// The steps asked for; those before the one that failed.
  std::vector<PredictedStep> steps;
  /// Empty, or PREDICTION_NOT_FINITE and the first step that is not.
  std::string failure_reason;
  int failed_step = 0;
};
using PredictedCandidateCallback = std::function<Status(PredictedCandidate candidate)>;

inline constexpr double kUnaryDeadlineS = 10;
inline constexpr double kStreamDeadlineS = 60;

class Client {
 public:
  virtual ~Client() = default;
  /// Makes the channel; the connection itself is made by the first call.
  static StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);

  virtual StatusOr<ServerInfo> GetServerInfo(const CallOptions& options) = 0;
  virtual StatusOr<ModelMetadata> GetModelMetadata(const CallOptions& options) = 0;
  /// Decodes, checks and lifts on the server; runs no dynamics.
  virtual StatusOr<SceneReport> ValidateScene(const SceneInput& input,
                                              const CallOptions& options) = 0;
  /// Steps arrive in `on_step` on the calling thread while later steps are computed. An error from
  /// `on_step` cancels the call and is returned.
  virtual StatusOr<RolloutSummary> PredictRollout(const SceneInput& input,
                                                  const ActionSequence& actions,
                                                  const OutputOptions& output,
                                                  const StepCallback& on_step,
                                                  const CallOptions& options) = 0;
  virtual StatusOr<RolloutSummary> PredictRollout(const SceneName& scene,
                                                  const ActionSequence& actions,
                                                  const OutputOptions& output,
                                                  const StepCallback& on_step,
                                                  const CallOptions& options) = 0;
  /// Many action sequences, all of one kind and length, over one scene; `output` without steps asks
  /// for the last one. Candidates arrive on the calling thread, each as soon as it is finished; an
  /// error from the callback cancels the rest and is returned.
  virtual StatusOr<RolloutSummary> PredictCandidates(const SceneInput& input,
                                                     const std::vector<ActionSequence>& candidates,
                                                     const OutputOptions& output,
                                                     const PredictedCandidateCallback& on_candidate,
                                                     const CallOptions& options) = 0;
  virtual StatusOr<RolloutSummary> PredictCandidates(const SceneName& scene,
                                                     const std::vector<ActionSequence>& candidates,
                                                     const OutputOptions& output,
                                                     const PredictedCandidateCallback& on_candidate,
                                                     const CallOptions& options) = 0;
  /// Lifts frames once and keeps them; client/kept_scene.h also makes a lost scene again. A time to
  /// live of 0 takes the server's default.
  virtual StatusOr<CreatedScene> CreateScene(const SceneInput& input, double time_to_live_s,
                                             const CallOptions& options) = 0;
  /// Moves a scene on by the observation after its newest, with the robot's measured row then.
  virtual StatusOr<SceneReport> UpdateScene(const std::string& scene_id,
                                            const Observation& observation,
                                            const ActionSequence& row,
                                            const CallOptions& options) = 0;
  /// An unknown scene is no error.
  virtual Status DeleteScene(const std::string& scene_id, const CallOptions& options) = 0;
  virtual StatusOr<ServerStatistics> GetStatistics(const CallOptions& options) = 0;
  /// Whether grpc.health.v1 says SERVING for `service` ("" or "interlacer.v1.InterlacerService").
  /// NOT_FOUND for a service that the server does not know.
  virtual StatusOr<bool> IsServing(const std::string& service, const CallOptions& options) = 0;
};

}  // namespace interlacer
