/// The server's own TLS: who gets in, renewed files, and clients that speak none.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/deploy/running_server.h"
#include "tests/support/authority.h"
#include "tests/support/connect_to_loopback.h"
#include "tests/support/held_port.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Authority authority(folder_.path(), "authority");
    for (const char* name : {"server", "renewed", "robot", "unlisted"}) authority.Sign(name);
    authority.Sign("operator", "DNS:second.robot");
    authority.Sign("of_rsa", "IP:127.0.0.1", "rsa:2048");
    const Authority elsewhere(folder_.path(), "elsewhere");
    for (const char* name : {"stranger", "foreign"}) elsewhere.Sign(name);
    Use("server");
    Use("authority", "clients");
  }
  std::string File(const std::string& name) const { return folder_.File(name); }
  /// The server's files become those of `name`, as a tool that renews does it.
  void Use(const std::string& name, const std::string& as = "now") const {
    for (const char* end : {".pem", ".key"}) {
      std::filesystem::copy_file(File(name + end), File("new"));
      std::filesystem::rename(File("new"), File(as + end));
    }
  }
  void Start(std::vector<std::string> more = {}, const std::vector<std::string>& variables = {}) {
    more.insert(more.end(), {"--tls-cert", File("now.pem"), "--tls-key", File("now.key"),
                             "--tls-client-ca", File("clients.pem"), "--metrics-address",
                             "127.0.0.1:" + std::to_string(metrics_port_.number())});
    server_ = std::make_unique<RunningServer>("127.0.0.1:0", more, variables);
    ASSERT_TRUE(Eventually([&] {
      const auto info = Connect("robot")->GetServerInfo({});
      return info.ok() && info->state == "serving";
    })) << server_->process().Err();
  }
  std::unique_ptr<Client> Connect(const std::string& name) const {
    return *Client::Create(
        {.address = server_->address(),
         .retry = false,
         .tls = TlsFiles{File("authority.pem"), File(name + ".pem"), File(name + ".key")}});
  }
  StatusCode CodeOf(const std::string& name) const {
    return Connect(name)->GetServerInfo({}).status().code();
  }
  bool Logs(const std::string& text) const {
    return Eventually([&] { return server_->process().Err().find(text) != std::string::npos; });
  }
  int TimesLogged(const std::string& text) const {
    const std::string log = server_->process().Err();
    int count = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
      ++count;
    }
    return count;
  }
  /// Whether a scrape of the server soon has this line.
  bool Shows(const std::string& line) const {
    return Eventually([&] {
      const int fd = ConnectToLoopback(metrics_port_.number());
      const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
      EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL), std::ssize(request));
      std::string page, part(10'000, '\0');
      for (ssize_t count = 0; (count = recv(fd, part.data(), part.size(), 0)) > 0;) {
        page.append(part, 0, static_cast<std::size_t>(count));
      }
      close(fd);
      return page.find("\n" + line + "\n") != std::string::npos;
    });
  }
  /// How the server's start with these words ends.
  static ProcessResult Fail(std::vector<std::string> words) {
    words.insert(words.begin(), {INTERLACER_SERVER_PROGRAM, "--model",
                                 "small=" INTERLACER_SOURCE_DIR "/checkpoints/small", "--address",
                                 "127.0.0.1:0", "--metrics-address", ""});
    return ChildProcess(words).Wait();
  }

  const TempFolder folder_;
  const HeldPort metrics_port_;
  std::unique_ptr<RunningServer> server_;
};

// fm-30
TEST_F(TlsTest, OnlyListedClientsOfTheAuthorityAreServed) {
  Start({"--allow-client", "robot", "--allow-client", "second.robot"});
  EXPECT_EQ(CodeOf("robot"), StatusCode::kOk);
  EXPECT_EQ(CodeOf("operator"), StatusCode::kOk) << "by its alternative name";
  EXPECT_EQ(CodeOf("unlisted"), StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf("stranger"), StatusCode::kUnavailable) << "another authority vouches for it";
  const auto anonymous = *Client::Create({.address = server_->address(),
                                          .retry = false,
                                          .tls = TlsFiles{File("authority.pem"), "", ""}});
  EXPECT_EQ(anonymous->GetServerInfo({}).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(server_->Connect()->GetServerInfo({}).ok()) << "without TLS";
  EXPECT_TRUE(Logs("a client is refused")) << "and why";
  const auto robot = Connect("robot");
  const auto model = *robot->GetModelMetadata({});
  EXPECT_TRUE(PredictTable(robot.get(), model, 2).ok()) << "uploads and answers of many records";
  EXPECT_EQ(server_->Stop().exit_code, 0);
}

/// Also where the library's configuration, which on a recent system refuses it first, allows it.
// fm-30
TEST_F(TlsTest, VersionsBelowOnePointTwoAreRefused) {
  std::ofstream(File("openssl.cnf")) << R"(openssl_conf = init
[init]
ssl_conf = ssl
[ssl]
system_default = all
[all]
MinProtocol = TLSv1
CipherString = DEFAULT@SECLEVEL=0
)";
  const std::string configuration = "OPENSSL_CONF=" + File("openssl.cnf");
  Start({}, {configuration});
  const auto shake_hands = [&](const std::string& version) {
    return ChildProcess({"/usr/bin/env", configuration, "openssl", "s_client", "-connect",
                         server_->address(), version, "-alpn", "h2", "-CAfile",
                         File("authority.pem"), "-cert", File("robot.pem"), "-key",
                         File("robot.key")})
        .Wait(20);
  };
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    const ProcessResult accepted = shake_hands(version);
    EXPECT_EQ(accepted.exit_code, 0) << version << accepted.err;
  }
  const ProcessResult refused = shake_hands("-tls1_1");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("alert protocol version"), std::string::npos) << refused.err;
}

// fm-30
TEST_F(TlsTest, RenewedFilesAreTakenAndBrokenOnesAreNot) {
  Start();
  EXPECT_TRUE(Shows("interlacer_tls_files_stale 0"));
  std::ofstream(File("now.key")) << "no key";
  EXPECT_TRUE(Logs("the old ones stay")) << server_->process().Err();
  EXPECT_TRUE(Shows("interlacer_tls_files_stale 1"));
  EXPECT_EQ(CodeOf("robot"), StatusCode::kOk);
  std::filesystem::copy_file(File("robot.key"), File("now.key"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(Logs("mismatch")) << "the key of another certificate: " << server_->process().Err();
  EXPECT_EQ(CodeOf("robot"), StatusCode::kOk);

  std::filesystem::copy_file(File("of_rsa.pem"), File("new"));
  std::filesystem::rename(File("new"), File("now.pem"));
  EXPECT_TRUE(Eventually([&] { return TimesLogged("the old ones stay") == 3; }));
  EXPECT_EQ(CodeOf("robot"), StatusCode::kOk) << "a certificate for a key of another kind";

  Use("renewed");
  Use("elsewhere", "clients");
  EXPECT_TRUE(Eventually([&] { return CodeOf("stranger") == StatusCode::kOk; }));
  EXPECT_EQ(CodeOf("robot"), StatusCode::kUnavailable) << "its authority is none any more";
  EXPECT_TRUE(Logs("were read again"));
  EXPECT_TRUE(Shows("interlacer_tls_files_stale 0"));
}

// fm-30
TEST_F(TlsTest, FilesThatAreNoGoodAreRefusedAtTheStart) {
  const auto with = [this](const std::string& certificate, const std::string& key,
                           const std::string& authority) {
    return Fail({"--tls-cert", File(certificate), "--tls-key", File(key), "--tls-client-ca",
                 File(authority)});
  };
  std::ofstream(File("empty.pem"));
  for (const auto& [result, field] :
       {std::pair{with("absent.pem", "server.key", "authority.pem"), "tls-cert"},
        std::pair{with("empty.pem", "server.key", "authority.pem"), "tls-cert"},
        std::pair{with("server.pem", "robot.key", "authority.pem"), "tls-key"},
        std::pair{with("server.pem", "server.pem", "authority.pem"), "tls-key"},
        std::pair{with("of_rsa.pem", "server.key", "authority.pem"), "tls-key"},
        std::pair{Fail({"--tls-cert", "", "--tls-key", File("server.key"), "--tls-client-ca",
                        File("authority.pem")}),
                  "tls-cert"},
        std::pair{with("server.pem", "server.key", "empty.pem"), "tls-client-ca"},
        std::pair{Fail({"--tls-cert", File("server.pem")}), "tls-cert"},
        std::pair{Fail({"--allow-client", "robot"}), "allow-client"}}) {
    EXPECT_EQ(result.exit_code, kUsage) << field;
    EXPECT_NE(result.err.find(field), std::string::npos) << result.err;
  }
}

TEST_F(TlsTest, BytesThatAreNoHandshakeEndTheirConnectionAlone) {
  Start();
  const std::string& address = server_->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& bytes : {std::string(100'000, 'x'), std::string(64, '\0'), hello,
                                   hello + std::string(600, '\xff')}) {
    const int fd = ConnectToLoopback(port);
    for (std::size_t at = 0; at < bytes.size(); at += 1 + at) {  // cut anywhere
      const std::size_t count = std::min(bytes.size() - at, 1 + at);
      if (send(fd, bytes.data() + at, count, MSG_NOSIGNAL) < 0) break;
    }
    EXPECT_EQ(CodeOf("robot"), StatusCode::kOk);
    close(fd);
  }
}

TEST_F(TlsTest, TheWatchdogHearsOfAServerThatNobodyElseMayCall) {
  NotifySocket socket(File("notify"));
  Start({}, {"NOTIFY_SOCKET=" + File("notify"), "WATCHDOG_USEC=1000000"});
  EXPECT_TRUE(socket.Hears("WATCHDOG=1", 20));
}

}  // namespace
}  // namespace interlacer::testing
