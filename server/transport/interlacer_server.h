#pragma once

/// The server as an object: it listens, loads and warms up models, serves, and drains.
///
/// Start listens at once and answers GetServerInfo and health while the models load on a separate
/// thread. The program calls Poll regularly; it advances draining, which ends when the clients'
/// systems have all answers or at its limit, and returns when and with which exit code to stop. The
/// destructor waits for the running unit of work. Threads: call all methods from one thread; the
/// server synchronises its own threads.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"
#include "server/calls/server_context.h"
#include "server/server_options.h"
#include "server/transport/front_door.h"
#include "server/transport/health.h"
#include "server/transport/interlacer_service.h"

namespace interlacer {

/// Exit codes of the program. A restart helps only after kInternal: a lost device, a lack of
/// memory, a unit of work that hangs.
enum class ServerExit : int {
  kDone = 0,
  kUsage = 2,
  kBadModel = 3,
  kDeviceAbsent = 7,
  kInternal = 70,
};

class InterlacerServer {
 public:
  /// Errors: INVALID_ARGUMENT CONFIG_INVALID naming the address that cannot be used.
  static StatusOr<std::unique_ptr<InterlacerServer>> Start(const ServerOptions& options,
                                                           std::vector<ModelSource> models);
  ~InterlacerServer();
  InterlacerServer(const InterlacerServer&) = delete;
  InterlacerServer& operator=(const InterlacerServer&) = delete;

  /// The port in use; 0 for unix sockets.
  int port() const { return door_->port(); }
  ServerState state() const { return state_.state(); }
  const Metrics& metrics() const { return metrics_; }
  const DeviceWorker& worker() const { return worker_; }

  /// Ends readiness and refuses new calls; calls in flight continue until the drain timeout.
  void Drain();
  /// Ends the calls in flight.
  void CancelCalls();
  /// Whether the server does its work: a new connection hears that it is live, and the device's
  /// worker comes to its next turn, both within `limit` and before
  /// `stop`. Any thread.
  bool ProbeItself(std::stop_token stop, Clock::duration limit);
  /// Whether a model loads or a unit of work runs, for which the destructor would wait.
  bool has_work() const { return !is_load_done_ || worker_.unit_start().has_value(); }
  /// Closes the port and writes what is recorded, for a process that then ends without the
  /// destructor.
  void Abandon();
  /// Set once the server should stop: drained, failed to load, or device lost.
  std::optional<ServerExit> Poll();

 private:
  InterlacerServer(const ServerOptions& options, std::vector<ModelSource> models);
  Status OpenRecorder();
  Status Listen();
  void LoadModels(std::stop_token stop);
  void OnStateChange(ServerState state);
  std::optional<ServerExit> PollDeviceLost();
  /// No call is left, and clients have what those before were answered.
  bool HaveAnswersArrived();

  const ServerOptions options_;
  Metrics metrics_;
  ModelStatistics statistics_;
  /// Null unless calls are recorded.
  std::unique_ptr<FlightRecorder> recorder_;
  Health health_;
  ServerStateMachine state_;
  ModelRegistry models_;
  MemoryBudget memory_;
  CallRegistry calls_;
  /// Holds references only. Outlives the worker and the decoders, whose last tasks use it.
  ServerContext context_;
  DeviceWorker worker_;
  /// Outlived by the worker, which frees what scenes hold.
  SceneStore scenes_;
  /// Outlives the decoders, which take frames until their last task has run.
  FramePool frames_;
  DecodePool decoders_;
  InterlacerService service_;
  std::unique_ptr<grpc::Server> server_;
  /// Takes the connections that the door has accepted.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<FrontDoor> door_;
  std::atomic<int> load_exit_{0};
  std::atomic<bool> is_load_done_{false};
  std::optional<Clock::time_point> drain_limit_;
  std::optional<Clock::time_point> device_lost_limit_;
  std::jthread loader_;
};

}  // namespace interlacer
