/// deploy/proxy/haproxy.cfg as it is, in front of two servers.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/duration.h"
#include "tests/deploy/running_server.h"
#include "tests/support/authority.h"
#include "tests/support/held_port.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

constexpr char kProxyProgram[] = "/usr/sbin/haproxy";

/// After an error another attempt finds a server within this time. Tests print what they saw.
constexpr double kMostWaitS = 1;

class ProxyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kProxyProgram)) {
      GTEST_SKIP() << kProxyProgram << " is not there; scripts/setup installs it";
    }
    const Authority authority(folder_.path(), "authority");
    for (const char* name : {"proxy", "robot", "unlisted"}) authority.Sign(name);
    Authority(folder_.path(), "elsewhere").Sign("stranger");
    std::ofstream(folder_.File("clients.txt")) << "robot\nstranger\n";
    std::ofstream(folder_.File("bundle.pem")) << std::ifstream(folder_.File("proxy.pem")).rdbuf()
                                              << std::ifstream(folder_.File("proxy.key")).rdbuf();
    for (int i = 0; i < 2; ++i) StartServer(i);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(servers_[i]->WaitUntilReady());
    proxy_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{"/usr/bin/env", "INTERLACER_PROXY_BIND=" + address_,
                                 "INTERLACER_PROXY_CERTIFICATE=" + folder_.File("bundle.pem"),
                                 "INTERLACER_PROXY_CLIENT_CA=" + folder_.File("authority.pem"),
                                 "INTERLACER_PROXY_CLIENTS=" + folder_.File("clients.txt"),
                                 "INTERLACER_SOCKET_1=" + folder_.File("0.sock"),
                                 "INTERLACER_SOCKET_2=" + folder_.File("1.sock"), kProxyProgram,
                                 "-db", "-f", INTERLACER_SOURCE_DIR "/deploy/proxy/haproxy.cfg"});
    const auto client = Connect("robot");
    ASSERT_TRUE(Eventually([&] { return client->GetServerInfo({}).ok(); }, 20))
        << proxy_->Err() << proxy_->Out();
    model_ = *client->GetModelMetadata({});
  }

  void StartServer(int index, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--log-level", "warning"});
    servers_[index] = std::make_unique<RunningServer>(
        "unix:" + folder_.File(std::to_string(index) + ".sock"), more);
  }
  std::unique_ptr<Client> Connect(const std::string& name) const {
    return *Client::Create(
        {.address = address_,
         .retry = false,
         .tls = TlsFiles{folder_.File("authority.pem"), folder_.File(name + ".pem"),
                         folder_.File(name + ".key")}});
  }
  std::vector<std::string> TlsFlags(const std::string& name) const {
    return {"--tls-ca",  folder_.File("authority.pem"), "--tls-cert", folder_.File(name + ".pem"),
            "--tls-key", folder_.File(name + ".key")};
  }
  /// `interlacer` with these words, then those.
  static ProcessResult Run(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.begin(), INTERLACER_PROGRAM);
    words.insert(words.end(), more.begin(), more.end());
    return ChildProcess(words).Wait();
  }
  StatusCode CodeOf(const std::string& name) const {
    return Connect(name)->GetServerInfo({}).status().code();
  }

  /// Predicts with four clients all the time; counts ends by code, and checks that after an error
  /// another attempt soon finds a server.
  class Load {
   public:
    explicit Load(const ProxyTest& test) {
      for (int i = 0; i < 4; ++i) {
        clients_.emplace_back([&test, this](const std::stop_token& stop) {
          const auto client = test.Connect("robot");
          while (!stop.stop_requested()) {
            const Status status = PredictTable(client.get(), test.model_, 4);
            Count(status);
            if (!status.ok()) WaitForServer(client.get());
          }
        });
      }
    }
    int count(StatusCode code) {
      const std::lock_guard lock(mutex_);
      return counts_[code];
    }
    std::map<StatusCode, int> Stop() {
      clients_.clear();
      return counts_;
    }
    double longest_wait_s() const { return longest_wait_s_; }

   private:
    void Count(const Status& status) {
      const std::lock_guard lock(mutex_);
      ++counts_[status.code()];
      if (!status.ok() && status.code() != StatusCode::kUnavailable) {
        ADD_FAILURE() << status.ToString();
      }
    }
    void WaitForServer(Client* client) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_TRUE(Eventually(
          [&] {
            const auto info = client->GetServerInfo({});
            return info.ok() && info->state == "serving";
          },
          20));
      const std::lock_guard lock(mutex_);
      longest_wait_s_ = std::max(longest_wait_s_, SecondsSince(start));
    }

    std::mutex mutex_;
    std::map<StatusCode, int> counts_;
    double longest_wait_s_ = 0;
    std::vector<std::jthread> clients_;
  };

  static void SayLongestWait(const Load& load) {
    RecordProperty("longest_wait_s", std::to_string(load.longest_wait_s()));
    std::cout << "from an error to the first answer: at most " << load.longest_wait_s() << " s\n";
  }

  const TempFolder folder_;
  const HeldPort port_;
  const std::string address_ = "127.0.0.1:" + std::to_string(port_.number());
  std::unique_ptr<RunningServer> servers_[2];
  std::unique_ptr<ChildProcess> proxy_;
  ModelMetadata model_;
};

// fm-30
TEST_F(ProxyTest, OnlyListedClientsOfTheAuthorityAreServed) {
  EXPECT_EQ(CodeOf("robot"), StatusCode::kOk);
  EXPECT_EQ(CodeOf("unlisted"), StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf("stranger"), StatusCode::kUnavailable) << "another authority vouches for it";
  EXPECT_FALSE((*Client::Create({.address = address_, .retry = false}))->GetServerInfo({}).ok())
      << "without TLS";
  const auto wrong =
      *Client::Create({.address = address_,
                       .retry = false,
                       .tls = TlsFiles{folder_.File("elsewhere.pem"), folder_.File("robot.pem"),
                                       folder_.File("robot.key")}});
  EXPECT_FALSE(wrong->GetServerInfo({}).ok()) << "it does not trust the proxy";
}

// fm-30
TEST_F(ProxyTest, EveryVerbThatAsksAServerSpeaksTls) {
  const std::string record_dir = folder_.File("record");
  servers_[0]->Stop();  // so that all is recorded
  servers_[1]->Stop();
  StartServer(1, {"--record-dir", record_dir});
  ASSERT_TRUE(servers_[1]->WaitUntilReady());
  const std::vector<std::string> robot = TlsFlags("robot");
  ASSERT_TRUE(Eventually([&] { return Run({"probe", address_}, robot).exit_code == 0; }, 20));

  const std::string episode = INTERLACER_SOURCE_DIR "/checkpoints/small/warmup/episode";
  const std::string costs = folder_.File("costs.json");
  std::ofstream(costs) << R"({"schema": "interlacer.cost", "schema_version": 1,
                              "terms": [{"type": "small_action"}]})";
  const auto output = [this](const char* name) { return folder_.File(name); };
  std::vector<std::vector<std::string>> verbs = {
      {"probe", address_},
      {"info", address_},
      {"predict", episode, "--server", address_, "--steps", "1", "-o", output("prediction")},
      {"evaluate", episode, "--server", address_, "--steps", "1", "--subjects", "model", "-o",
       output("scores")},
      {"plan", episode, "--server", address_, "--cost", costs, "--horizon", "1", "--candidates",
       "4", "--iterations", "1", "--knots", "1", "-o", output("plan")},
      {"bench", address_, episode, "--steps", "1", "--duration", "0.1s"}};
  for (const auto& verb : verbs) {
    const ProcessResult result = Run(verb, robot);
    EXPECT_EQ(result.exit_code, 0) << verb[0] << ": " << result.err;
  }
  std::string record;
  for (const auto& file : std::filesystem::directory_iterator(record_dir)) {
    record = file.path().string();
  }
  verbs.push_back({"replay", record, "--server", address_, "--check"});
  EXPECT_EQ(Run(verbs.back(), robot).exit_code, 0);

  constexpr int kBadInput = 3, kUnreachable = 4;
  EXPECT_EQ(Run(verbs[0], {"--deadline", "1s"}).exit_code, kUnreachable) << "without TLS";
  for (const auto& verb : {verbs[0], verbs[1], verbs.back()}) {
    EXPECT_EQ(Run(verb, TlsFlags("unlisted")).exit_code, kUnreachable) << verb[0];
  }
  EXPECT_EQ(Run(verbs[0], {"--tls-cert", robot[3], "--tls-key", robot[5]}).exit_code, kUsage);
  EXPECT_EQ(Run(verbs[0], {"--tls-ca", robot[1], "--tls-cert", robot[3]}).exit_code, kUsage);
  const ProcessResult absent = Run(verbs[0], {"--tls-ca", "/nowhere/ca.pem"});
  EXPECT_EQ(absent.exit_code, kBadInput);
  EXPECT_NE(absent.err.find("/nowhere/ca.pem"), std::string::npos) << absent.err;
}

// fm-26
TEST_F(ProxyTest, ADrainingServerFinishesItsCallsAndTheOtherTakesTheNext) {
  Load load(*this);
  ASSERT_TRUE(Eventually([&] { return load.count(StatusCode::kOk) >= 4; }));
  servers_[0]->process().Signal(SIGTERM);
  const ProcessResult ended = servers_[0]->process().Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const int count = load.count(StatusCode::kOk);
  EXPECT_TRUE(Eventually([&] { return load.count(StatusCode::kOk) >= count + 4; }));
  const auto counts = load.Stop();
  EXPECT_GE(counts.at(StatusCode::kOk), 8);
  SayLongestWait(load);
  EXPECT_LE(load.longest_wait_s(), kMostWaitS);
}

// fm-27
TEST_F(ProxyTest, CallsOfAKilledServerAreUnavailableAndTheOtherTakesTheNext) {
  Load load(*this);
  ASSERT_TRUE(Eventually([&] { return load.count(StatusCode::kOk) >= 4; }));
  servers_[0]->process().Signal(SIGKILL);
  EXPECT_EQ(servers_[0]->process().Wait().exit_code, 128 + SIGKILL);
  const int count = load.count(StatusCode::kOk);
  EXPECT_TRUE(Eventually([&] { return load.count(StatusCode::kOk) >= count + 4; }));
  const auto counts = load.Stop();
  EXPECT_EQ(counts.count(StatusCode::kUnavailable), 1u) << "some were with the killed one";
  SayLongestWait(load);
  EXPECT_LE(load.longest_wait_s(), kMostWaitS);
  StartServer(0);
  EXPECT_TRUE(servers_[0]->WaitUntilReady()) << "on the path that the killed one left";
}

}  // namespace
}  // namespace interlacer::testing
