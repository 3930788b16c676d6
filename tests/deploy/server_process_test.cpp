/// What only a process can show: signals, exit codes, addresses, clients that vanish.

#include <sys/ptrace.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/duration.h"
#include "data/episode_reader.h"
#include "data/scene_input.h"
#include "tests/deploy/running_server.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

constexpr int kInternal = 70;

int ActiveCalls(Client* client) {
  const auto statistics = client->GetStatistics({});
  return statistics.ok() ? statistics->active_call_count + statistics->queue_length : -1;
}

/// Steps that the server has computed.
std::int64_t StepCount(Client* client) {
  const auto statistics = client->GetStatistics({});
  return statistics.ok() && statistics->models.size() == 1 ? statistics->models[0].step_count : -1;
}

/// A table of planned joint values for `interlacer predict`: the robot of an episode stays.
void WriteRestingPlan(const std::string& path, const std::string& episode,
                      const ModelMetadata& model, int row_count) {
  const SceneInput scene =
      Must(MakeSceneInput(Must(EpisodeReader::Open(episode)), SceneInputOptionsFor(model)));
  const ActionSequence& history = scene.history_actions;
  std::ofstream file(path);
  for (std::int64_t c = 0; c < history.column_count; ++c) {
    file << (c > 0 ? "," : "") << model.action_columns[c].name;
  }
  for (int row = 0; row < row_count; ++row) {
    for (std::int64_t c = 0; c < history.column_count; ++c) {
      file << (c > 0 ? "," : "\n") << *(history.values.end() - history.column_count + c);
    }
  }
  file << "\n";
}

// fm-16
TEST(ServerProcess, TheCallOfAKilledClientIsGoneAfterAUnit) {
  constexpr int kSteps = 100;
  const std::string episode = INTERLACER_SOURCE_DIR "/checkpoints/small/warmup/episode";
  const TempFolder folder;
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  const auto watcher = server.Connect();
  WriteRestingPlan(folder.File("rest.csv"), episode, *watcher->GetModelMetadata({}), kSteps);
  ChildProcess client({INTERLACER_PROGRAM, "predict", episode, "--server", server.address(),
                       "--actions", folder.File("rest.csv"), "--steps", std::to_string(kSteps),
                       "--no-particles", "-o", folder.File("prediction")});
  ASSERT_TRUE(Eventually([&] { return StepCount(watcher.get()) > 0; })) << client.Err();
  EXPECT_EQ(ActiveCalls(watcher.get()), 1);
  client.Signal(SIGKILL);
  const std::int64_t before = StepCount(watcher.get());
  EXPECT_LT(before, kSteps / 2);
  EXPECT_TRUE(Eventually([&] { return ActiveCalls(watcher.get()) == 0; }, 10));
  EXPECT_LE(StepCount(watcher.get()), before + 5)
      << "the unit that ran, and what a loaded machine begins before it hears of it";
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
  std::atomic<const Status*> last_end = nullptr;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        const auto client = server.Connect();
        ends[i] = PredictTable(client.get(), model, 2);
        last_end = &ends[i];
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
  EXPECT_TRUE(last_end.load()->ok())
      << "whoever is refused hears it before those end that were ahead";
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

// fm-22
TEST(ServerProcess, ADeviceThatIsLostEndsItWithCodeSeventy) {
  const TempFolder folder;
  const std::string sign = folder.File("lost");
  RunningServer server(
      "127.0.0.1:0", {},
      {"LD_PRELOAD=" INTERLACER_LOST_DEVICE, "INTERLACER_LOST_DEVICE_FILE=" + sign});
  ASSERT_TRUE(server.WaitUntilReady());
  const auto client = server.Connect();
  const ModelMetadata model = *client->GetModelMetadata({});
  std::ofstream{sign};
  const Status status = PredictTable(client.get(), model, 2);
  EXPECT_EQ(status.reason(), reason::DEVICE_LOST) << status.ToString();
  EXPECT_FALSE(PredictTable(server.Connect().get(), model, 1).ok());
  EXPECT_EQ(server.process().Wait().exit_code, kInternal);
}

/// A call whose reader stands still after the first step until it may continue.
struct CallInFlight {
  CallInFlight(const RunningServer& server, int step_count) : client(server.Connect()) {
    const ModelMetadata model = *client->GetModelMetadata({});
    end = std::async(std::launch::async, [this, model, step_count] {
      return PredictTable(client.get(), model, step_count, [this](const PredictedStep&) {
        ++steps;
        EXPECT_TRUE(Eventually([this] { return may_continue.load(); }));
        return Status::Ok();
      });
    });
  }
  bool HasEnded() const {
    return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  const std::unique_ptr<Client> client;
  std::atomic<int> steps = 0;
  std::atomic<bool> may_continue = false;
  std::future<Status> end;
};

// fm-26
TEST(ServerProcess, ASignalLetsCallsFinish) {
  constexpr int kSteps = 8;
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  CallInFlight call(server, kSteps);
  ASSERT_TRUE(Eventually([&] { return call.steps > 0; }));
  server.process().Signal(SIGTERM);
  EXPECT_TRUE(
      Eventually([&] { return server.process().Err().find("draining") != std::string::npos; }));
  call.may_continue = true;
  const Status status = call.end.get();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(call.steps, kSteps);
  const ProcessResult result = server.process().Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

/// Long before the time that the first one leaves them is over.
// fm-26
TEST(ServerProcess, ASecondSignalEndsCalls) {
  constexpr int kSteps = 60;
  RunningServer server("127.0.0.1:0", {"--drain-timeout", "300s", "--slow-reader-timeout", "300s"});
  ASSERT_TRUE(server.WaitUntilReady());
  CallInFlight call(server, kSteps);
  ASSERT_TRUE(Eventually([&] { return call.steps > 0; }));
  server.process().Signal(SIGTERM);
  EXPECT_TRUE(
      Eventually([&] { return server.process().Err().find("draining") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(call.HasEnded());
  EXPECT_TRUE(server.process().IsRunning());

  server.process().Signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it looks every 50 ms
  call.may_continue = true;
  const Status status = call.end.get();
  EXPECT_EQ(status.reason(), reason::DRAINING) << status.ToString();
  EXPECT_LT(call.steps, kSteps);
  const ProcessResult result = server.process().Wait(30);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// fm-26
TEST(ServerProcess, ASignalWhileLoadingEndsItAtOnce) {
  RunningServer server;
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(10).exit_code, 0);
}

// fm-26
TEST(ServerProcess, ASignalInALoadThatHangsEndsItAtOnce) {
  const TempFolder folder;
  const std::string socket = folder.File("socket");
  RunningServer server("unix:" + socket, {},
                       {"LD_PRELOAD=" INTERLACER_SLOW_DISK, "INTERLACER_SLOW_FILE=.safetensors"});
  const auto client = server.Connect();
  ASSERT_TRUE(Eventually([&] { return client->GetServerInfo({}).ok(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it is at the weights by now
  EXPECT_EQ(client->GetServerInfo({})->state, "starting");
  server.process().Signal(SIGTERM);
  const ProcessResult result = server.process().Wait(10);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(std::filesystem::exists(socket));
}

ProcessResult Probe(const RunningServer& server, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {INTERLACER_PROGRAM, "probe", server.address()};
  words.insert(words.end(), more.begin(), more.end());
  return ChildProcess(words).Wait();
}

// fm-29
TEST(ServerProcess, ProbeEndsWithCodeOneUntilItIsReady) {
  const TempFolder folder;
  const RunningServer loading(
      "unix:" + folder.File("socket"), {},
      {"LD_PRELOAD=" INTERLACER_SLOW_DISK, "INTERLACER_SLOW_FILE=.safetensors"});
  const auto client = loading.Connect();
  ASSERT_TRUE(Eventually([&] { return client->GetServerInfo({}).ok(); }));
  const ProcessResult not_yet = Probe(loading);
  EXPECT_EQ(not_yet.exit_code, 1) << not_yet.err;
  EXPECT_EQ(not_yet.out, "not ready\n");

  const RunningServer ready;
  ASSERT_TRUE(ready.WaitUntilReady());
  const ProcessResult probed = Probe(ready);
  EXPECT_EQ(probed.exit_code, 0) << probed.err;
  EXPECT_EQ(probed.out, "ready\n");
  const ProcessResult unknown = Probe(ready, {"--service", "nobody"});
  EXPECT_EQ(unknown.exit_code, 1) << unknown.err;
  EXPECT_EQ(unknown.out, "not ready\n");
}

/// Stops one thread of a child for as long as it lives.
class StoppedThread {
 public:
  StoppedThread(pid_t process, const std::string& name) {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      std::string found;
      std::getline(std::ifstream(entry.path() / "comm"), found);
      if (found == name) thread_ = std::stoi(entry.path().filename());
    }
    is_stopped_ = thread_ > 0 && ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0 &&
                  ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) == 0 &&
                  waitpid(thread_, nullptr, __WALL) == thread_;
  }
  ~StoppedThread() {
    if (is_stopped_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;
  bool is_found() const { return thread_ > 0; }
  bool is_stopped() const { return is_stopped_; }

 private:
  pid_t thread_ = 0;
  bool is_stopped_ = false;
};

// fm-22
TEST(ServerProcess, ItsWatchdogHearsNothingWhileTheWorkerHangs) {
  constexpr char kPing[] = "WATCHDOG=1";
  const TempFolder folder;
  NotifySocket socket(folder.File("notify"));
  RunningServer server("127.0.0.1:0", {},
                       {"NOTIFY_SOCKET=" + folder.File("notify"), "WATCHDOG_USEC=2000000"});
  EXPECT_TRUE(socket.Hears("READY=1", 60)) << server.process().Err();
  EXPECT_TRUE(socket.Hears(kPing, 10));
  {
    const StoppedThread worker(server.process().id(), "device-worker");
    ASSERT_TRUE(worker.is_found());
    if (!worker.is_stopped()) GTEST_SKIP() << "this machine lets no process trace another";
    while (!socket.Next(0.6).empty()) {  // what was on its way
    }
    EXPECT_TRUE(server.Connect()->GetServerInfo({}).ok()) << "its other threads live";
    EXPECT_EQ(socket.Next(5), "");
  }
  EXPECT_TRUE(socket.Hears(kPing, 10)) << "it goes on";
  server.process().Signal(SIGTERM);
  EXPECT_TRUE(socket.Hears("STOPPING=1", 10));
  EXPECT_EQ(server.process().Wait().exit_code, 0);
}

/// Also by a client that asks again and again and does not wait by itself.
// fm-27
TEST(ServerProcess, AClientSoonFindsItWhenItIsBack) {
  const TempFolder folder;
  const std::string address = "unix:" + folder.File("socket");
  auto server = std::make_unique<RunningServer>(address);
  const auto client = server->Connect();
  ASSERT_TRUE(Eventually([&] { return client->GetServerInfo({}).ok(); }));
  server->process().Signal(SIGKILL);
  server->process().Wait();
  EXPECT_EQ(client->GetServerInfo({}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(client->GetServerInfo({}).status().code(), StatusCode::kUnavailable);
  server = std::make_unique<RunningServer>(address);
  ASSERT_TRUE(
      Eventually([&] { return server->process().Err().find("listening") != std::string::npos; }));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Eventually([&] { return client->GetServerInfo({}).ok(); }));
  EXPECT_LT(SecondsSince(start), 2) << "the longest pause between attempts is a second";
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
