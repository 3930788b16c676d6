#pragma once

/// A server with a FakePredictor on a free loopback port of this process, and a stub connected to
/// it. The destructor stops the server.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "server/transport/interlacer_server.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/must.h"

namespace interlacer::testing {

/// True once `condition` holds; false after `timeout_s`.
inline bool WaitUntil(const std::function<bool()>& condition, double timeout_s = 5) {
  return Eventually(condition, timeout_s);
}

inline ServerOptions TestServerOptions(const Limits& limits = {}) {
  ServerOptions options;
  options.limits = limits;
  options.address = "127.0.0.1:0";
  options.metrics_address = "";
  options.log_level = LogLevel::kError;
  return options;
}

struct ServerControls : FakeControls {
  /// Step cost and status of the warm-up.
  double step_cost_s = 0;
  double render_cost_s = 0;
  double carry_cost_s = 0;
  Status warm_up_status;
  std::optional<ModelMemory> warm_up_memory;
  Gate warm_up_gate;
};

class InProcessServer {
 public:
  explicit InProcessServer(
      const ServerOptions& options = TestServerOptions(),
      std::shared_ptr<ServerControls> server_controls = std::make_shared<ServerControls>())
      : controls(std::move(server_controls)) {
    const auto load = [this]() -> StatusOr<std::unique_ptr<Predictor>> {
      return std::unique_ptr<Predictor>(std::make_unique<FakePredictor>(FakeMetadata(), controls));
    };
    const auto warm_up = [this](const std::stop_token&, ServedModel* model) {
      controls->warm_up_gate.Pass();
      model->metadata.step_cost_s = controls->step_cost_s;
      model->metadata.render_cost_s = controls->render_cost_s;
      model->metadata.carry_cost_s = controls->carry_cost_s;
      model->memory = controls->warm_up_memory;
      return controls->warm_up_status;
    };
    server = Must(InterlacerServer::Start(options, {{FakeMetadata().model_name, load, warm_up}}));
    Connect();
  }
  ~InProcessServer() {
    controls->gate.Open();
    controls->warm_up_gate.Open();
  }

  /// Replaces the channel and the stub by new ones with a connection of their own.
  void Connect() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(64 << 20);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server->port()),
                                        grpc::InsecureChannelCredentials(), arguments);
    stub = v1::InterlacerService::NewStub(channel);
  }

  bool WaitForServing() const {
    return WaitUntil([this] { return server->state() == ServerState::kServing; });
  }

  const std::shared_ptr<ServerControls> controls;
  std::unique_ptr<InterlacerServer> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::InterlacerService::Stub> stub;
};

/// One that is serving when made.
struct ServingInProcessServer : InProcessServer {
  template <typename... Arguments>
  explicit ServingInProcessServer(Arguments&&... arguments)
      : InProcessServer(std::forward<Arguments>(arguments)...) {
    if (!WaitForServing()) throw std::runtime_error("the server does not come to serve");
  }
};

}  // namespace interlacer::testing
