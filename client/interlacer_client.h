#pragma once

/// A client of the interlacer.v1.InterlacerService: plain structs in, plain structs out.
///
/// Every call has a deadline, which its error names. Messages may be 64 MiB in both directions.
/// Transient UNAVAILABLE answers are retried as client/service_config.json says, requests of any
/// size; nothing else is. A connection that fails is tried again every second or so.
/// Errors: the server's Status with code, reason word, field path and metadata. Without a server:
/// UNAVAILABLE. The caller's own mistakes: INVALID_ARGUMENT ARGUMENT_INVALID, IMAGE_SIZE_MISMATCH.
/// Threads: all methods may be called from several threads at once on one Client.

#include <cstdint>
#include <memory>
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

struct ClientOptions {
  /// "127.0.0.1:50051", "[::1]:50051", "unix:/run/interlacer.sock" or "dns:///host:port".
  std::string address;
  std::int64_t max_message_bytes = 64ll << 20;
  /// Off in control loops, where a late answer is worth less than an early error.
  bool retry = true;
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
  /// Whether grpc.health.v1 says SERVING for `service` ("" or "interlacer.v1.InterlacerService").
  /// NOT_FOUND for a service that the server does not know.
  virtual StatusOr<bool> IsServing(const std::string& service, const CallOptions& options) = 0;
};

}  // namespace interlacer
