/// Signals that would end a process by themselves, with whatever it has in flight.

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "tests/deploy/running_server.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

bool HasLogged(RunningServer* server, const std::string& text) {
  return server->process().Err().find(text) != std::string::npos;
}

// fm-26
TEST(ServerSignals, ATerminalThatGoesLetsCallsFinish) {
  // Whoever runs the tests may have it ignored.
  RunningServer server("127.0.0.1:0", {}, {"--default-signal=HUP"});
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
  server.process().Signal(SIGHUP);
  const Status status = end.get();
  EXPECT_TRUE(status.ok()) << status.ToString();
  const ProcessResult result = server.process().Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("draining"));
}

TEST(ServerSignals, ATerminalThatGoesIsNothingToAServerThatWasStartedWithNohup) {
  RunningServer server("127.0.0.1:0", {}, {"--ignore-signal=HUP"});
  ASSERT_TRUE(server.WaitUntilReady());
  server.process().Signal(SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it looks twenty times a second
  const auto client = server.Connect();
  EXPECT_TRUE(PredictTable(client.get(), *client->GetModelMetadata({}), 1).ok());
  EXPECT_FALSE(HasLogged(&server, "draining"));
  EXPECT_EQ(server.Stop().exit_code, 0);
}

TEST(ServerSignals, AFileThatMayNotGrowEndsARecordingAndNoCall) {
  const TempFolder folder;
  RunningServer server("127.0.0.1:0",
                       {"--record-dir", folder.File("recordings"), "--record-bytes", "100mb"},
                       {"prlimit", "--fsize=300000"});
  ASSERT_TRUE(server.WaitUntilReady());
  const auto client = server.Connect();
  const ModelMetadata model = *client->GetModelMetadata({});
  for (int call = 0; call < 3; ++call) {
    const Status status = PredictTable(client.get(), model, 8);  // about 800 kB
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_TRUE(Eventually([&] { return HasLogged(&server, "the flight recorder cannot write"); }));
  EXPECT_EQ(server.Stop().exit_code, 0);
}

}  // namespace
}  // namespace interlacer::testing
