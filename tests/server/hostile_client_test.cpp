/// Clients that break rules or dawdle, at the socket: each costs nobody else an answer.

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/health_client.h"
#include "tests/server/rollout_call.h"
#include "tests/support/held_port.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

const std::string kValidatePath = std::string(kServicePath) + "ValidateScene";
const std::string kRolloutPath = std::string(kServicePath) + "PredictRollout";

std::string Message(const google::protobuf::Message& message) {
  const std::string bytes = message.SerializeAsString();
  return MessagePrefix(static_cast<std::uint32_t>(bytes.size())) + bytes;
}

v1::PredictRolloutRequest WithPriority(v1::PredictRolloutRequest request,
                                       v1::RequestPriority priority) {
  request.set_priority(priority);
  return request;
}

bool IsServed(InProcessServer* fixture) {
  return Call(fixture, WithPriority(MakeRolloutRequest(1), v1::REQUEST_PRIORITY_CONTROL), 5)
      .Finish()
      .ok();
}

int ThreadCount() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "Threads:") {
      int count = 0;
      file >> count;
      return count;
    }
  }
  return 0;
}

TEST(HostileClient, CompressedMessagesAreRefusedUnread) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  const std::uint32_t call = client.Open(kValidatePath, {{"grpc-encoding", "gzip"}});
  client.Data(call, std::string("\1", 1) + BigEndian(100, 4) + std::string(100, 'z'), true);
  ASSERT_TRUE(client.WaitForEnd(call));
  EXPECT_EQ(client.Header(call, "grpc-status"), "12");
  EXPECT_TRUE(IsServed(fixture.get()));
}

TEST(HostileClient, AMessageThatIsTooLargeIsRefusedAtOnce) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  const std::uint32_t call = client.Open(kValidatePath);
  client.Data(call, MessagePrefix(1u << 30) + std::string(30'000, 'x'));
  ASSERT_TRUE(client.WaitForEnd(call)) << "long before a gigabyte has been sent";
  EXPECT_EQ(client.Header(call, "grpc-status"), "8");
  // The connection may send as many bytes as before.
  const std::uint32_t next = client.Open(kValidatePath);
  client.Data(next, Message(MakeSceneRequest<v1::ValidateSceneRequest>()), true);
  ASSERT_TRUE(client.WaitForEnd(next));
  EXPECT_EQ(client.Header(next, "grpc-status"), "0");
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_refused_total{code=\"RESOURCE_EXHAUSTED\""));
}

// fm-20
TEST(HostileClient, HalfUploadsEndWhetherTheyHaveBegunOrNot) {
  auto fixture = ServingServer(TestServerOptions({.upload_timeout_s = 0.3}));
  RawHttp2 client(fixture->server->port());
  const std::uint32_t mute = client.Open(kRolloutPath);
  const std::uint32_t half = client.Open(kRolloutPath);
  client.Data(half, MessagePrefix(60 << 20) + std::string(30'000, 'x'));
  EXPECT_TRUE(IsServed(fixture.get()));
  ASSERT_TRUE(client.WaitForEnd(mute));
  ASSERT_TRUE(client.WaitForEnd(half));
  EXPECT_EQ(client.Header(half, "grpc-status"), "4");
}

TEST(HostileClient, OfUploadsThatExceedTheBudgetTheOldestAreRefused) {
  auto fixture = ServingServer(TestServerOptions({.max_inflight_request_bytes = 100'000}));
  std::vector<std::unique_ptr<RawHttp2>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawHttp2>(fixture->server->port()));
    ASSERT_EQ(clients.back()->Open(kRolloutPath), 1u);
    clients.back()->Data(1, MessagePrefix(60 << 20) + std::string(40'000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(clients[0]->WaitForEnd(1));
  EXPECT_TRUE(clients[1]->WaitForEnd(1));
  EXPECT_FALSE(clients[3]->WaitForEnd(1, 0.2));
  EXPECT_TRUE(IsServed(fixture.get()));
}

TEST(HostileClient, ABadHeaderEndsItsCallAndNoOtherOfTheConnection) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  const std::uint32_t watch = client.Open("/grpc.health.v1.Health/Watch");
  client.Data(watch, MessagePrefix(0), true);
  ASSERT_TRUE(client.ReadUntil([&] { return client.stream(watch).data_bytes > 0; }));
  for (const char* value : {"!!!", "a", "====", "\x7f"}) {
    const std::uint32_t bad = client.Open(kValidatePath, {{"x-bad-bin", value}}, true);
    ASSERT_TRUE(client.WaitForEnd(bad)) << value;
    EXPECT_EQ(client.Header(bad, "grpc-status"), "3") << value;
  }
  EXPECT_FALSE(client.stream(watch).is_over());
  EXPECT_FALSE(client.has_goaway());
}

/// Half as long a pause as clients are told, so that none that is a little early is sent away.
// fm-31
TEST(HostileClient, PingsOfAnIdleClientAreNoOffence) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client.Write(Http2Frame(RawHttp2::kPing, 0, 0, "12345678")));
    ASSERT_FALSE(client.ReadUntil([&] { return client.has_goaway(); }, 5.1));
  }
  EXPECT_FALSE(client.is_closed());
}

TEST(HostileClient, FieldsOutOfPlaceCostNoOtherCallOfTheConnection) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  const std::uint32_t watch = client.Open("/grpc.health.v1.Health/Watch");
  client.Data(watch, MessagePrefix(0), true);
  ASSERT_TRUE(client.ReadUntil([&] { return client.stream(watch).data_bytes > 0; }));
  const std::string padding(7'000, 'a');
  for (const auto& [name, value] : HeaderList{{":path", "/again"},
                                              {":method", "GET"},
                                              {":authority", ""},
                                              {"content-type", "text/plain"},
                                              {"grpc-timeout", "soon"},
                                              {"grpc-encoding", "unknown"},
                                              {"grpc-accept-encoding", "\xff"},
                                              {"grpc-status", "x"},
                                              {"grpc-previous-rpc-attempts", "-1"},
                                              {"grpc-tags-bin", "AAAA"},
                                              {"lb-cost-bin", "AA"},
                                              {"grpclb_client_stats", "x"},
                                              {"x!#$%&'*+.^`|~", "marks"},
                                              {"x-note", "\xc3\xa9\xff"},
                                              {"host", "x"},
                                              {"connection", "close"},
                                              {"transfer-encoding", "chunked"},
                                              {"x-raw-bin", std::string("\0\0", 2)}}) {
    const std::uint32_t odd =
        client.Open(kValidatePath, {{name, value}, {"x-padding", padding}}, true);
    EXPECT_TRUE(client.WaitForEnd(odd)) << name;
    ASSERT_FALSE(client.stream(watch).is_over() || client.has_goaway()) << name;
  }
  EXPECT_TRUE(IsServed(fixture.get()));
}

TEST(HostileClient, BytesInBinaryMetadataPass) {
  auto fixture = ServingServer();
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (const std::size_t size : {0, 1, 2, 3, 255, 256}) {
    grpc::ClientContext context;
    context.AddMetadata("x-bytes-bin", bytes.substr(256 - size));
    context.AddMetadata("x-bytes-bin", bytes.substr(0, size));
    v1::GetServerInfoResponse info;
    const grpc::Status status = fixture->stub->GetServerInfo(&context, {}, &info);
    EXPECT_TRUE(status.ok()) << size << ": " << status.error_message();
  }
}

// fm-17
TEST(HostileClient, ReadersThatDawdleTakeNoPlaceFromOthers) {
  auto fixture = ServingServer(TestServerOptions(
      {.max_queue_length = 2, .max_active_calls = 2, .max_buffered_messages = 1}));
  RawHttp2 client(fixture->server->port(), /*initial_window=*/0);
  const std::string request = Message(MakeRolloutRequest(8));
  std::vector<std::uint32_t> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(client.Open(kRolloutPath));
    client.Data(calls.back(), request, true);
    ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().active_count() == i + 1; }));
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(2), 5).Finish().ok()) << round;
    for (const std::uint32_t call : calls) client.GiveWindow(call, 3000);  // about a message
    client.ReadUntil([] { return false; }, 0.05);
  }
  // At most one made way, while the quick call waited a moment for its own reader.
  const auto over_count = std::count_if(calls.begin(), calls.end(), [&](std::uint32_t call) {
    return client.stream(call).is_over();
  });
  EXPECT_LE(over_count, 1);
}

// fm-19
TEST(HostileClient, CallsOfLowPriorityTakeNoPlaceOfUrgentOnes) {
  auto fixture = ServingServer(TestServerOptions({.max_queue_length = 2, .max_active_calls = 1}));
  fixture->controls->gate.Close();
  const auto slow = WithPriority(MakeRolloutRequest(50), v1::REQUEST_PRIORITY_BACKGROUND);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>(fixture.get(), slow));
    ASSERT_TRUE(WaitUntil([&] {
      return fixture->server->worker().active_count() + fixture->server->worker().queue_length() ==
             i + 1;
    }));
  }
  EXPECT_EQ(ReadDetails(Call(fixture.get(), slow).Finish()).info.reason(), "QUEUE_FULL");
  Call urgent(fixture.get(), WithPriority(MakeRolloutRequest(2), v1::REQUEST_PRIORITY_CONTROL));
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() >= 3; }));
  fixture->controls->gate.Open();
  EXPECT_TRUE(urgent.Finish().ok());
  for (auto& call : calls) EXPECT_TRUE(call->Finish().ok());
}

TEST(HostileClient, AnEstimateBeyondTheLimitOfCallsIsRefusedAndHoldsNobodyUp) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 10;
  ServingInProcessServer fixture(TestServerOptions({.max_call_duration_s = 50}), controls);
  const auto predict = [&](int step_count) {
    grpc::ClientContext context;  // without a deadline
    auto reader = fixture.stub->PredictRollout(&context, MakeRolloutRequest(step_count));
    v1::PredictRolloutResponse message;
    while (reader->Read(&message)) {
    }
    return reader->Finish();
  };
  const ErrorDetails refusal = ReadDetails(predict(6));
  EXPECT_EQ(refusal.info.reason(), "CALL_TOO_LONG");
  EXPECT_EQ(controls->lift_count, 0);
  EXPECT_TRUE(predict(4).ok());
  // What is ahead counts no longer than it may live.
  controls->gate.Close();
  Call ahead(&fixture, MakeRolloutRequest(4), 1.0);
  EXPECT_EQ(ReadDetails(ahead.Finish()).info.reason(), "DEADLINE_TOO_SHORT");
  Call slow(&fixture, MakeRolloutRequest(4), 40.5);
  ASSERT_TRUE(controls->gate.WaitForUnit());
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->worker().CostAheadS(0) < 39.9; }));
  controls->gate.Open();
  EXPECT_TRUE(slow.Finish().ok());
}

TEST(HostileClient, AnUnreadUnaryAnswerNeitherStaysNorHoldsADrain) {
  auto fixture = ServingServer(TestServerOptions({.drain_timeout_s = 0.1}));
  RawHttp2 client(fixture->server->port(), /*initial_window=*/0);
  const std::uint32_t call = client.Open(kValidatePath);
  client.Data(call, Message(MakeSceneRequest<v1::ValidateSceneRequest>()), true);
  ASSERT_TRUE(HasMetric(*fixture, "code=\"OK\",method=\"ValidateScene\""));
  fixture->server->Drain();
  EXPECT_TRUE(WaitUntil([&] { return fixture->server->Poll() == ServerExit::kDone; }));
}

TEST(HostileClient, AnUnreadUnaryAnswerIsResetAfterTheTimeOfSlowReaders) {
  auto fixture = ServingServer(TestServerOptions({.slow_reader_timeout_s = 0.2}));
  RawHttp2 client(fixture->server->port(), /*initial_window=*/0);
  const std::uint32_t call = client.Open(kValidatePath);
  client.Data(call, Message(MakeSceneRequest<v1::ValidateSceneRequest>()), true);
  EXPECT_TRUE(client.ReadUntil([&] {
    fixture->server->Poll();
    return client.stream(call).is_over();
  }));
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_cancelled_total{where=\"slow_reader\"} 1"));
}

TEST(HostileClient, UnreadAnswersAreBoundedAndTheLongestUnreadGoesFirst) {
  auto fixture = ServingServer(
      TestServerOptions({.max_inflight_request_bytes = 500'000, .max_buffered_messages = 20}));
  auto request = MakeRolloutRequest(1);
  auto* target = request.mutable_output()->add_render_targets();
  target->set_target_name("large");
  *target->mutable_camera() = MakeView("left", 0).calibration();
  target->mutable_camera()->set_width_px(256);
  target->mutable_camera()->set_height_px(256);  // about 200 kB
  RawHttp2 client(fixture->server->port(), /*initial_window=*/0);
  std::vector<std::uint32_t> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(client.Open(kRolloutPath));
    client.Data(calls.back(), Message(request), true);
    ASSERT_TRUE(HasMetric(*fixture,
                          "interlacer_requests_total{code=\"OK\","
                          "method=\"PredictRollout\",reason=\"\"} " +
                              std::to_string(i + 1)));
  }
  EXPECT_TRUE(WaitUntil([&] {
    return ReadDetails(Call(fixture.get(), MakeRolloutRequest(1)).Finish()).info.reason() ==
           "HOST_MEMORY";
  }));
  EXPECT_TRUE(client.ReadUntil([&] {
    fixture->server->Poll();
    return client.stream(calls[0]).is_over();
  }));
  EXPECT_FALSE(client.stream(calls[2]).is_over());
  EXPECT_TRUE(WaitUntil([&] { return IsServed(fixture.get()); }));
}

/// A rollout whose one answer is larger than what a client's system takes unread.
v1::PredictRolloutRequest RequestOfALargeAnswer() {
  auto request = MakeRolloutRequest(1);
  auto* target = request.mutable_output()->add_render_targets();
  target->set_target_name("large");
  *target->mutable_camera() = MakeView("left", 0).calibration();
  target->mutable_camera()->set_width_px(320);
  target->mutable_camera()->set_height_px(320);  // about 300 kB
  return request;
}

// fm-26
TEST(HostileClient, AnAnswerThatIsReadSlowlyIsWholeAlthoughTheServerStops) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port(), /*initial_window=*/1 << 20);
  client.GiveWindow(0, 1 << 20);
  const std::uint32_t call = client.Open(kRolloutPath);
  client.Data(call, Message(RequestOfALargeAnswer()), true);
  ASSERT_TRUE(HasMetric(*fixture, "code=\"OK\",method=\"PredictRollout\""));
  fixture->server->Drain();
  EXPECT_FALSE(WaitUntil([&] { return fixture->server->Poll().has_value(); }, 1))
      << "it ends with bytes unsent";
  ASSERT_TRUE(client.WaitForEnd(call));
  EXPECT_EQ(client.Header(call, "grpc-status"), "0");
  EXPECT_GT(client.stream(call).data_bytes, 3u * 320 * 320);
  EXPECT_TRUE(WaitUntil([&] { return fixture->server->Poll() == ServerExit::kDone; }));
}

// fm-26
TEST(HostileClient, AnAnswerThatNobodyReadsHoldsADrainUntilItsLimit) {
  auto fixture = ServingServer(TestServerOptions({.drain_timeout_s = 0.2}));
  RawHttp2 client(fixture->server->port(), /*initial_window=*/1 << 20);
  client.GiveWindow(0, 1 << 20);
  client.Data(client.Open(kRolloutPath), Message(RequestOfALargeAnswer()), true);
  ASSERT_TRUE(HasMetric(*fixture, "code=\"OK\",method=\"PredictRollout\""));
  fixture->server->Drain();
  EXPECT_TRUE(WaitUntil([&] { return fixture->server->Poll() == ServerExit::kDone; }));
}

/// Reads until the server says that nothing more comes; false if it breaks the connection off.
bool ReadsToTheEnd(int fd, std::string* bytes) {
  std::string part(1 << 16, '\0');
  ssize_t count = 0;
  while ((count = recv(fd, part.data(), part.size(), 0)) > 0) {
    bytes->append(part, 0, static_cast<std::size_t>(count));
  }
  return count == 0;
}

std::string HttpGreeting() { return kHttp2Preface + Http2Frame(RawHttp2::kSettings, 0, 0, ""); }

/// GOAWAY with the word for an error.
bool HasGoAway(const std::string& bytes) {
  return bytes.find(std::string(1, RawHttp2::kGoAway) + std::string(5, '\0')) != std::string::npos;
}

/// Closing a socket with unread input would reset the connection.
TEST(HostileClient, WhoIsSentAwayWhileItSendsHearsWhy) {
  auto fixture = ServingServer();
  const int fd = ConnectToLoopback(fixture->server->port());
  // Frames of calls are none of call 0.
  const std::string bytes =
      HttpGreeting() + Http2Frame(RawHttp2::kData, 0, 0, "x") + std::string(200'000, '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    ASSERT_GT(count, 0);
    at += static_cast<std::size_t>(count);
  }
  std::string heard;
  EXPECT_TRUE(ReadsToTheEnd(fd, &heard)) << std::strerror(errno);
  EXPECT_TRUE(HasGoAway(heard));
  close(fd);
  EXPECT_TRUE(IsServed(fixture.get()));
}

/// It takes longer than a connection's patience with those that say nothing at all.
TEST(HostileClient, WhoIsSentAwayAfterALongSilenceHearsWhy) {
  auto fixture = ServingServer(TestServerOptions({.upload_timeout_s = 10.5}));
  const int fd = ConnectToLoopback(fixture->server->port());
  // Headers without an end.
  const std::string bytes =
      HttpGreeting() + Http2Frame(RawHttp2::kHeaders, 0, 1, HeaderBlock(kValidatePath));
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  std::string heard;
  EXPECT_TRUE(ReadsToTheEnd(fd, &heard));
  EXPECT_TRUE(HasGoAway(heard));
  close(fd);
}

/// The server's end of a connection to it, of this process too; -1 where it is not accepted yet.
int OtherEnd(int fd) {
  sockaddr_in own{}, peer{};
  socklen_t bytes = sizeof(own);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes), 0);
  for (int other = 3; other < 1024; ++other) {
    bytes = sizeof(peer);
    if (getpeername(other, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 &&
        peer.sin_family == AF_INET && peer.sin_port == own.sin_port) {
      return other;
    }
  }
  return -1;
}

/// The kernel too ends connections whose clients do not read.
TEST(HostileClient, TheKernelWaitsForSlowReadersAsLongAsTheServerDoes) {
  for (const auto& [timeout_s, expected_ms] : {std::pair{10, 60'000}, {300, 310'000}}) {
    auto fixture =
        ServingServer(TestServerOptions({.slow_reader_timeout_s = static_cast<double>(timeout_s)}));
    const int fd = ConnectToLoopback(fixture->server->port());
    int value_ms = 0;
    EXPECT_TRUE(WaitUntil([&] {
      socklen_t bytes = sizeof(value_ms);
      return getsockopt(OtherEnd(fd), IPPROTO_TCP, TCP_USER_TIMEOUT, &value_ms, &bytes) == 0 &&
             value_ms != 0;
    }));
    EXPECT_EQ(value_ms, expected_ms);
    close(fd);
  }
}

/// Eight digits of hours have more nanoseconds than 64 bits hold.
// fm-14
TEST(HostileClient, ADeadlineInThousandsOfYearsIsNotOver) {
  auto fixture = ServingServer();
  RawHttp2 client(fixture->server->port());
  for (const char* timeout : {"2562048H", "2777777H", "5124096H", "99999999H"}) {
    const std::uint32_t call = client.Open(kValidatePath, {{"grpc-timeout", timeout}});
    client.Data(call, Message(MakeSceneRequest<v1::ValidateSceneRequest>()), true);
    ASSERT_TRUE(client.WaitForEnd(call));
    EXPECT_EQ(client.Header(call, "grpc-status"), "0") << timeout;
  }
}

// fm-20
TEST(HostileClient, ConnectionsThatSayNothingMakeRoomForOthers) {
  auto fixture = ServingServer(TestServerOptions({.max_connections = 8}));
  ASSERT_TRUE(IsServed(fixture.get()));
  std::vector<std::unique_ptr<RawHttp2>> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(std::make_unique<RawHttp2>(fixture->server->port()));
  }
  EXPECT_TRUE(WaitUntil([&] { return IsServed(fixture.get()); }));
  fixture->Connect();
  EXPECT_TRUE(IsServed(fixture.get()));
  int open_count = 0;
  for (auto& client : idle) {
    client->ReadUntil([] { return false; }, 0.01);
    open_count += client->is_closed() ? 0 : 1;
  }
  EXPECT_LE(open_count, 8);
}

/// A flood of such is what clients make that forget their channels.
// fm-20
TEST(HostileClient, WatchesOfManyConnectionsCostNobodyAnAnswer) {
  auto fixture = ServingServer(TestServerOptions({.max_connections = 8}));
  fixture->controls->gate.Close();
  Call quiet(fixture.get(), MakeRolloutRequest(2));
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  std::vector<std::unique_ptr<RawHttp2>> watchers;
  for (int i = 0; i < 20; ++i) {
    watchers.push_back(std::make_unique<RawHttp2>(fixture->server->port()));
    RawHttp2& watcher = *watchers.back();
    const std::uint32_t watch = watcher.Open("/grpc.health.v1.Health/Watch");
    watcher.Data(watch, MessagePrefix(0), true);
    ASSERT_TRUE(watcher.ReadUntil([&] { return watcher.stream(watch).data_bytes > 0; }));
  }
  fixture->controls->gate.Open();
  const grpc::Status end = quiet.Finish();
  EXPECT_TRUE(end.ok()) << end.error_message();
  fixture->Connect();
  EXPECT_TRUE(IsServed(fixture.get()));
}

/// The library's own listener would never accept again after one such failure (CVE-2023-4785).
// fm-20
TEST(HostileClient, ALackOfDescriptorsPasses) {
  auto fixture = ServingServer();
  ASSERT_TRUE(IsServed(fixture.get()));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 512);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(client, 0);
  std::vector<int> taken;
  for (int fd = dup(client); fd >= 0; fd = dup(client)) taken.push_back(fd);
  EXPECT_EQ(errno, EMFILE);

  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(fixture->server->port()));
  ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string hello = kHttp2Preface + Http2Frame(RawHttp2::kSettings, 0, 0, "");
  ASSERT_EQ(send(client, hello.data(), hello.size(), MSG_NOSIGNAL), std::ssize(hello));
  pollfd entry{client, POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 300), 0) << "nobody could accept it";
  EXPECT_TRUE(IsServed(fixture.get())) << "a client that was there before";
  for (const int fd : taken) close(fd);
  EXPECT_EQ(poll(&entry, 1, 5000), 1) << "accepted once there are descriptors";
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  close(client);
}

// fm-20
TEST(HostileClient, StreamsOfReflectionHoldFewThreads) {
  auto fixture = ServingServer();
  ASSERT_TRUE(IsServed(fixture.get()));
  const int before = ThreadCount();
  std::vector<std::unique_ptr<RawHttp2>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawHttp2>(fixture->server->port()));
    for (int j = 0; j < 15; ++j) {
      const std::uint32_t call =
          clients.back()->Open("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
      clients.back()->Data(call, MessagePrefix(3) + "\x3a\x01*");
    }
    clients.back()->ReadUntil([] { return false; }, 0.05);
  }
  EXPECT_LE(ThreadCount() - before, 40);
  EXPECT_TRUE(IsServed(fixture.get()));
}

int SendText(int port, const std::string& text) {
  const int fd = ConnectToLoopback(port);
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  return fd;
}

TEST(HostileClient, HalfAScrapeHoldsUpNoOther) {
  const HeldPort port;
  ServerOptions options = TestServerOptions();
  options.metrics_address = "127.0.0.1:" + std::to_string(port.number());
  auto fixture = ServingServer(options);
  const std::string half = "GET /metrics HTTP/1.1\r\nHost: x\r\n";
  std::vector<int> held;
  for (int i = 0; i < 24; ++i) held.push_back(SendText(port.number(), half));
  const int scrape = SendText(port.number(), half + "\r\n");
  pollfd entry{scrape, POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 4000), 1);
  std::string answer(1000, '\0');
  EXPECT_GT(recv(scrape, answer.data(), answer.size(), 0), 0);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
  held.push_back(scrape);
  for (const int fd : held) close(fd);
}

// fm-28
TEST(Address, APathThatIsServedIsRefusedAndALeftoverReplaced) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  ServerOptions options = TestServerOptions();
  options.address = "unix:" + path;
  {
    InProcessServer first(options);
    EXPECT_EQ(InterlacerServer::Start(options, {}).status().reason(), reason::CONFIG_INVALID);
    EXPECT_EQ(access(path.c_str(), F_OK), 0) << "the second must not take the first one's socket";
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int leftover = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(leftover, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(leftover);
  ServingInProcessServer third(options);
}

// fm-28
TEST(Address, NamesAndPortsThatCannotBeUsedAreErrors) {
  ServerOptions options = TestServerOptions();
  options.insecure = true;
  for (const char* address : {"", "nobody", "127.0.0.1:x", "127.0.0.1:70000",
                              "127.0.0.1:", "unix:", "unix:/nowhere/at/all/socket"}) {
    options.address = address;
    const Status server = InterlacerServer::Start(options, {}).status();
    EXPECT_EQ(server.reason(), reason::CONFIG_INVALID) << address;
    EXPECT_EQ(server.field(), "address") << address;
  }
}

}  // namespace
}  // namespace interlacer::testing
