#pragma once

/// The real server as a process, with a shipped checkpoint, and clients of it.

#include <memory>
#include <string>
#include <vector>

#include "client/interlacer_client.h"
#include "tests/support/listening_server.h"
#include "tests/support/table_scene.h"

namespace interlacer::testing {

/// Exit code of a program that was started with words it does not take.
inline constexpr int kUsage = 2;

class RunningServer : public ListeningServer {
 public:
  explicit RunningServer(const std::string& address = "127.0.0.1:0",
                         const std::vector<std::string>& more = {},
                         const std::vector<std::string>& variables = {})
      : ListeningServer("small=" INTERLACER_SOURCE_DIR "/checkpoints/small", address, more,
                        variables) {}

  std::unique_ptr<Client> Connect() const {
    return *Client::Create({.address = address(), .retry = false});
  }
  bool WaitUntilReady() const {
    const auto client = Connect();
    return Eventually([&] {
      const auto info = client->GetServerInfo({});
      return info.ok() && info->state == "serving";
    });
  }
};

/// Predicts `step_count` steps of a table; how it ended.
inline Status PredictTable(
    Client* client, const ModelMetadata& model, int step_count,
    const StepCallback& on_step = [](const PredictedStep&) { return Status::Ok(); }) {
  CallOptions options;
  options.deadline_s = 100;
  OutputOptions output;
  output.include_positions = true;
  return client
      ->PredictRollout(TableScene(model), RestingRobot(model, step_count), output, on_step, options)
      .status();
}

}  // namespace interlacer::testing
