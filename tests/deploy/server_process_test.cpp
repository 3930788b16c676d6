/// What only a process can show: signals, exit codes, addresses, clients that vanish.

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/deploy/running_server.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kUsage = 2, kInternal = 70;

int ActiveCalls(Client* client) {
  const auto statistics = client->GetStatistics({});
  return statistics.ok() ? statistics->active_call_count + statistics->queue_length : -1;
}

// fm-16
TEST(ServerProcess, TheCallOfAKilledClientIsGoneAfterAUnit) {
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  const auto watcher = server.Connect();
  ChildProcess client({INTERLACER_EXAMPLE_PROGRAM, server.address()});
  ASSERT_TRUE(Eventually([&] { return ActiveCalls(watcher.get()) == 1; }));
  client.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return ActiveCalls(watcher.get()) == 0; }, 10));
  EXPECT_TRUE(Eventually(
      [&] { return server.process().Err().find("code=CANCELLED") != std::string::npos; }, 5));
}

// fm-18
TEST(ServerProcess, OfTwoHundredCallersTheQueueTakesSomeAndRefusesTheOthersAtOnce) {
  constexpr int kCallers = 200;
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  const ModelMetadata model = *server.Connect()->GetModelMetadata({});
  std::vector<Status> ends(kCallers);
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        const auto client = server.Connect();
        ends[i] = PredictTable(client.get(), model, 2);
      });
    }
  }
  int success_count = 0;
  for (const Status& end : ends) {
    success_count += end.ok() ? 1 : 0;
    if (!end.ok()) {
      EXPECT_EQ(end.reason(), reason::QUEUE_FULL) << end.ToString();
    }
  }
  EXPECT_GE(success_count, 8);
  EXPECT_TRUE(PredictTable(server.Connect().get(), model, 1).ok());
}

// fm-22
TEST(ServerProcess, AUnitThatHangsEndsItWithCodeSeventy) {
  RunningServer server("127.0.0.1:0", {"--watchdog", "1ms"});
  ASSERT_TRUE(server.WaitUntilReady());
  const auto client = server.Connect();
  const ModelMetadata model = *client->GetModelMetadata({});
  EXPECT_FALSE(PredictTable(client.get(), model, 8).ok());
  EXPECT_EQ(server.process().Wait().exit_code, kInternal);
}

// fm-26
TEST(ServerProcess, ASignalLetsCallsFinishASecondOneEndsThem) {
  for (const int signals : {1, 2}) {
    RunningServer server;
    ASSERT_TRUE(server.WaitUntilReady());
    const auto client = server.Connect();
    const ModelMetadata model = *client->GetModelMetadata({});
    std::atomic<int> steps = 0;
    auto end = std::async(std::launch::async, [&] {
      return PredictTable(client.get(), model, 8, [&](const PredictedStep&) {
        ++steps;
        return Status::Ok();
      });
    });
    ASSERT_TRUE(Eventually([&] { return steps > 0; }));
    for (int i = 0; i < signals; ++i) {
      server.process().Signal(SIGTERM);
      EXPECT_TRUE(
          Eventually([&] { return server.process().Err().find("draining") != std::string::npos; }));
    }
    const Status status = end.get();
    if (signals == 1) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(steps, 8);
    }
    // The second signal may come when all is done.
    EXPECT_THAT(status.reason(), AnyOf("", reason::DRAINING));
    const ProcessResult result = server.process().Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

// fm-26
TEST(ServerProcess, ASignalWhileLoadingEndsItAtOnce) {
  RunningServer server;
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(10).exit_code, 0);
}

// fm-28
TEST(ServerProcess, AnAddressInUseIsRefusedAndItsOwnerGoesOn) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  for (const std::string& address : {std::string("127.0.0.1:0"), "unix:" + path}) {
    RunningServer first(address);
    ASSERT_TRUE(first.WaitUntilReady());
    RunningServer second(first.address());
    const ProcessResult refused = second.process().Wait();
    EXPECT_EQ(refused.exit_code, kUsage);
    EXPECT_THAT(refused.err, HasSubstr(first.address()));
    EXPECT_TRUE(first.WaitUntilReady()) << "its socket is still there";
  }
}

// fm-28
TEST(ServerProcess, ListensOnTheAddressOfVersionSixAlone) {
  RunningServer server("[::1]:0");
  ASSERT_TRUE(server.WaitUntilReady());
  const std::string port = server.address().substr(server.address().rfind(':'));
  const auto other = *Client::Create({.address = "127.0.0.1" + port, .retry = false});
  EXPECT_FALSE(other->GetServerInfo({}).ok());
}

}  // namespace
}  // namespace interlacer::testing
