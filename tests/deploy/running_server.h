#pragma once

/// The real server as a process, with a shipped checkpoint, and clients of it.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/interlacer_client.h"
#include "tests/support/child_process.h"
#include "tests/support/table_scene.h"

namespace interlacer::testing {

using Seconds = std::chrono::duration<double>;

template <typename Condition>
bool Eventually(Condition condition, double limit_s = 60) {
  const auto end = std::chrono::steady_clock::now() + Seconds(limit_s);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class RunningServer {
 public:
  explicit RunningServer(const std::string& address = "127.0.0.1:0",
                         const std::vector<std::string>& more = {})
      : process_(Arguments(address, more)), address_(address) {
    if (!address.ends_with(":0")) return;
    static const std::regex kPort(R"(listening .*port=(\d+))");
    std::smatch match;
    std::string log;
    EXPECT_TRUE(Eventually([&] {
      log = process_.Err();
      return std::regex_search(log, match, kPort) || !process_.IsRunning();
    }));
    if (match.size() == 2) address_.replace(address_.size() - 1, 1, match[1].str());
  }

  const std::string& address() const { return address_; }
  ChildProcess& process() { return process_; }

  std::unique_ptr<Client> Connect() const {
    return *Client::Create({.address = address_, .retry = false});
  }
  bool WaitUntilReady() const {
    const auto client = Connect();
    return Eventually([&] {
      const auto info = client->GetServerInfo({});
      return info.ok() && info->state == "serving";
    });
  }

 private:
  static std::vector<std::string> Arguments(const std::string& address,
                                            const std::vector<std::string>& more) {
    std::vector<std::string> all = {INTERLACER_SERVER_PROGRAM,
                                    "--model",
                                    "small=" INTERLACER_SOURCE_DIR "/checkpoints/small",
                                    "--address",
                                    address,
                                    "--metrics-address",
                                    ""};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  ChildProcess process_;
  std::string address_;
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
