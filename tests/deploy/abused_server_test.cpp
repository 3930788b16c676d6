/// Clients that dawdle, flood, hurry and never end, against the real server as a process.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/deploy/running_server.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

/// What a process holds.
struct Holdings {
  std::int64_t resident_kb = 0, threads = 0, descriptors = 0;
};

Holdings HoldingsOf(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  Holdings held;
  std::ifstream status(folder + "/status");
  for (std::string key; status >> key; status.ignore(1000, '\n')) {
    if (key == "VmRSS:") status >> held.resident_kb;
    if (key == "Threads:") status >> held.threads;
  }
  held.descriptors = std::distance(fs::directory_iterator(folder + "/fd"), {});
  return held;
}

/// What two moments have in common: less is a chance of the moment, more stays.
Holdings LeastOf(const Holdings& a, const Holdings& b) {
  return {std::min(a.resident_kb, b.resident_kb), std::min(a.threads, b.threads),
          std::min(a.descriptors, b.descriptors)};
}

Status TakeAll(const PredictedStep&) { return Status::Ok(); }

Status Predict(Client* client, const ModelMetadata& model, int step_count, RequestPriority priority,
               const StepCallback& on_step = TakeAll, const std::stop_token& stop = {}) {
  CallOptions options;
  options.stop = stop;
  options.deadline_s = 500;
  options.priority = priority;
  OutputOptions output;
  output.include_positions = true;
  return client
      ->PredictRollout(TableScene(model), RestingRobot(model, step_count), output, on_step, options)
      .status();
}

// fm-17
TEST(AbusedServer, ReadersThatStopTakeNoPlaceAndEndAtTheirTimeout) {
  constexpr int kPlaces = 2, kSteps = 100;  // 10 MB, more than the library reads ahead
  RunningServer server("127.0.0.1:0", {"--max-queue", "1", "--max-active-calls", "1",
                                       "--slow-reader-timeout", "15s"});
  ASSERT_TRUE(server.WaitUntilReady());
  const auto quick = server.Connect();
  const ModelMetadata model = *quick->GetModelMetadata({});
  ASSERT_TRUE(Predict(quick.get(), model, 2, RequestPriority::kNormal).ok());
  const Holdings before = HoldingsOf(server.process().id());

  std::array<Status, kPlaces> ends;
  std::atomic<int> ended = 0;
  std::atomic<bool> may_read = false;
  std::vector<std::jthread> readers;
  for (Status& end : ends) {
    readers.emplace_back([&] {
      const auto client = server.Connect();
      end = Predict(client.get(), model, kSteps, RequestPriority::kNormal, [&](const auto&) {
        may_read.wait(false);
        return Status::Ok();
      });
      ++ended;
    });
  }
  ASSERT_TRUE(Eventually([&] {
    const auto statistics = quick->GetStatistics({});
    return statistics.ok() && statistics->active_call_count + statistics->queue_length == kPlaces;
  }));
  const auto are_dropped = [&] {
    const std::string log = server.process().Err();
    int count = 0;
    for (std::size_t at = log.find("reason=SLOW_READER"); at != std::string::npos;
         at = log.find("reason=SLOW_READER", at + 1)) {
      ++count;
    }
    return count == kPlaces;
  };
  // They hold every place until one has stalled.
  EXPECT_TRUE(
      Eventually([&] { return Predict(quick.get(), model, 2, RequestPriority::kNormal).ok(); }));
  EXPECT_FALSE(are_dropped()) << "somebody else was served beside them";
  EXPECT_TRUE(Eventually(are_dropped, 90)) << server.process().Err();
  EXPECT_LT(HoldingsOf(server.process().id()).resident_kb - before.resident_kb, 64 << 10);
  may_read = true;
  may_read.notify_all();
  readers.clear();
  EXPECT_EQ(ended, kPlaces);
  for (const Status& end : ends) EXPECT_FALSE(end.ok());
  EXPECT_TRUE(Predict(quick.get(), model, 2, RequestPriority::kNormal).ok());
}

// fm-19
TEST(AbusedServer, ControlCallsHardlyNoticeTwelveEvaluators) {
  constexpr int kEvaluators = 12, kCalls = 9;
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  const auto control = server.Connect();
  const ModelMetadata model = *control->GetModelMetadata({});
  std::atomic<int> their_steps = 0, finished = 0;
  const auto count = [&](const PredictedStep&) {
    ++their_steps;
    return Status::Ok();
  };
  std::vector<std::jthread> evaluators;
  for (int i = 0; i < kEvaluators; ++i) {
    evaluators.emplace_back([&](const std::stop_token& stop) {
      const auto client = server.Connect();
      while (!stop.stop_requested()) {
        const Status end =
            Predict(client.get(), model, 4, RequestPriority::kBackground, count, stop);
        finished += end.ok() ? 1 : 0;
      }
    });
  }
  ASSERT_TRUE(Eventually([&] {
    const auto statistics = control->GetStatistics({});
    return statistics.ok() &&
           statistics->active_call_count + statistics->queue_length >= kEvaluators - 1;
  }));
  // Steps, not seconds, which other work on the machine stretches.
  std::array<int, kCalls> let_through;
  for (int& steps : let_through) {
    const int before = their_steps;
    const Status end = Predict(control.get(), model, 1, RequestPriority::kControl);
    EXPECT_TRUE(end.ok()) << end.ToString();
    steps = their_steps - before;
  }
  std::ranges::sort(let_through);
  // In turns with twelve others it would be a step of each at least.
  EXPECT_LT(let_through[kCalls / 2], kEvaluators / 2) << ::testing::PrintToString(let_through);
  EXPECT_TRUE(Eventually([&] { return finished > 0; })) << "they are served too";
  for (auto& evaluator : evaluators) evaluator.request_stop();
}

/// Floods of connections, pings, settings, resets and headers, half uploads, bombs; pings every ten
/// seconds.
// fm-20 fm-31
TEST(AbusedServer, HoldsAgainstTheAttacksOfTheScript) {
  // Fewer descriptors than the script has connections.
  RunningServer server("127.0.0.1:0", {"--upload-timeout", "5s"}, {"prlimit", "--nofile=512"});
  ASSERT_TRUE(server.WaitUntilReady());
  const ProcessResult attacked =
      ChildProcess({"/usr/bin/python3", INTERLACER_SOURCE_DIR "/scripts/attack", "--address",
                    server.address(), "--pid", std::to_string(server.process().id())})
          .Wait(250);
  EXPECT_EQ(attacked.exit_code, 0) << attacked.out << attacked.err;
  EXPECT_THAT(attacked.out, ::testing::HasSubstr("PASS early_pings"));
  EXPECT_EQ(server.Stop().exit_code, 0);
}

/// As many as INTERLACER_SOAK_CALLS says, with which the program of the test runs by itself, since
/// ctest would end it.
int SoakCalls() {
  const char* const text = std::getenv("INTERLACER_SOAK_CALLS");
  return text == nullptr ? 2000 : std::stoi(text);
}

// fm-33
TEST(AbusedServer, TwoThousandCallsLeaveNothing) {
  // The first round is not counted. From one pair of rounds to the next are 80 predictions, of
  // which each holds 100 kB of positions alone.
  constexpr int kRounds = 5, kClients = 4, kPredictionEvery = 10;
  constexpr int kMostGrowthKb = 2 << 10;
  const int calls_of_client = SoakCalls() / (kRounds * kClients);
  ASSERT_GE(calls_of_client, kPredictionEvery);
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  const ModelMetadata model = *server.Connect()->GetModelMetadata({});
  const SceneInput scene = TableScene(model);
  const ActionSequence too_long = RestingRobot(model, 1000);
  const auto call_often = [&] {
    const auto client = server.Connect();
    for (int i = 0; i < calls_of_client; ++i) {
      if (i % kPredictionEvery == 0) {
        EXPECT_TRUE(Predict(client.get(), model, 1, RequestPriority::kNormal).ok());
      } else if (i % 4 == 0) {
        EXPECT_TRUE(client->GetServerInfo({}).ok());
      } else if (i % 4 == 1) {
        EXPECT_TRUE(client->GetModelMetadata({}).ok());
      } else if (i % 4 == 2) {
        const auto end = client->PredictRollout(scene, too_long, {}, TakeAll, {});
        EXPECT_EQ(end.status().reason(), reason::LIMIT_STEPS);
      } else {
        EXPECT_TRUE(client->ValidateScene(scene, {}).ok());
      }
    }
  };
  std::array<Holdings, kRounds> held;
  for (Holdings& now : held) {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) clients.emplace_back(call_often);
    clients.clear();
    std::this_thread::sleep_for(std::chrono::seconds(3));  // memory of the burst goes back
    now = HoldingsOf(server.process().id());
    std::cout << kClients * calls_of_client << " calls later: " << now.resident_kb << " kB, "
              << now.threads << " threads, " << now.descriptors << " descriptors" << std::endl;
  }
  const Holdings before = LeastOf(held[1], held[2]), after = LeastOf(held[3], held[4]);
  EXPECT_LE(after.resident_kb - before.resident_kb, kMostGrowthKb);
  // gRPC's pool grows with the load of the machine; a thread a call would be hundreds.
  EXPECT_LE(after.threads - before.threads, 8);
  EXPECT_LE(after.descriptors - before.descriptors, 0);
}

}  // namespace
}  // namespace interlacer::testing
