/// What the server says to a service manager, and that its watchdog hears of work, not of threads.

#include "server/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "server/transport/self_probe.h"
#include "tests/server/rollout_call.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

using namespace std::chrono_literals;

constexpr char kPing[] = "WATCHDOG=1";

TEST(Supervisor, ReadsItsVariables) {
  const auto of = [](const std::map<std::string, std::string>& variables) {
    return Supervisor::FromEnvironment(variables);
  };
  EXPECT_FALSE(of({})->watchdog_limit());
  EXPECT_EQ(*of({{"WATCHDOG_USEC", "3000"}})->watchdog_limit(), 3ms);
  EXPECT_EQ(*of({{"WATCHDOG_USEC", "3000"}, {"WATCHDOG_PID", std::to_string(getpid())}})
                 ->watchdog_limit(),
            3ms);
  EXPECT_FALSE(of({{"WATCHDOG_USEC", "3000"}, {"WATCHDOG_PID", "1"}})->watchdog_limit());
  for (const char* const value : {"0", "-1", "1s", "99999999999999999999"}) {
    EXPECT_EQ(of({{"WATCHDOG_USEC", value}}).status().reason(), reason::CONFIG_INVALID) << value;
  }
  EXPECT_EQ(of({{"NOTIFY_SOCKET", "relative"}}).status().reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(of({{"NOTIFY_SOCKET", "/" + std::string(200, 'x')}}).status().reason(),
            reason::CONFIG_INVALID);
  of({{"NOTIFY_SOCKET", "/nowhere/notify"}})->Tell("READY=1");  // nobody listens: nothing happens
}

TEST(Supervisor, PingsOnlyWhileTheWorkerComesToItsTurns) {
  const TempFolder folder;
  NotifySocket socket(folder.File("notify"));
  ServingInProcessServer fixture;
  const auto supervisor = *Supervisor::FromEnvironment(
      {{"NOTIFY_SOCKET", folder.File("notify")}, {"WATCHDOG_USEC", "400000"}});
  const WatchdogPings pings(supervisor,
                            [&](const std::stop_token& stop, std::chrono::microseconds limit) {
                              return fixture.server->ProbeItself(stop, limit);
                            });
  EXPECT_TRUE(socket.Hears(kPing, 10));
  EXPECT_TRUE(socket.Hears(kPing, 10));

  fixture.controls->gate.Close();
  const auto call = std::async(
      std::launch::async, [&] { return Call(&fixture, MakeRolloutRequest(1), 60).Finish().ok(); });
  ASSERT_TRUE(fixture.controls->gate.WaitForUnit());
  while (!socket.Next(0.1).empty()) {  // what was on its way
  }
  EXPECT_EQ(socket.Next(1.5), "") << "its threads live, its worker does not";
  fixture.controls->gate.Open();
  EXPECT_TRUE(socket.Hears(kPing, 10));
}

TEST(Supervisor, APortThatDoesNotAnswerIsNoSuccess) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  const int silent = socket(AF_UNIX, SOCK_STREAM, 0);  // takes connections and says nothing
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(silent, 8), 0);
  const auto now = [] { return std::chrono::system_clock::now(); };
  EXPECT_FALSE(AnswersAsLive("unix:" + path, {}, now() + 1s));
  close(silent);
  InProcessServer fixture;
  const std::string port = std::to_string(fixture.server->port());
  EXPECT_TRUE(AnswersAsLive("127.0.0.1:" + port, {}, now() + 10s));
}

TEST(Supervisor, PingsEndWithTheirOwnerInTheMiddleOfAProbe) {
  const auto supervisor = *Supervisor::FromEnvironment({{"WATCHDOG_USEC", "100000000"}});
  ServingInProcessServer fixture;
  fixture.controls->gate.Close();
  grpc::ClientContext context;
  auto reader = fixture.stub->PredictRollout(&context, MakeRolloutRequest(1));
  ASSERT_TRUE(fixture.controls->gate.WaitForUnit());
  const auto start = std::chrono::steady_clock::now();
  {
    const WatchdogPings pings(supervisor,
                              [&](const std::stop_token& stop, std::chrono::microseconds limit) {
                                return fixture.server->ProbeItself(stop, limit);
                              });
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

}  // namespace
}  // namespace interlacer::testing
