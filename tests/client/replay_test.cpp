/// What a flight recorder has kept, repeated on the server and on another one.

#include "client/replay.h"

#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/interlacer_client.h"
#include "client/recording.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/recording.h"
#include "tests/support/in_process_server.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

std::string AddressOf(const InProcessServer& server) {
  return "127.0.0.1:" + std::to_string(server.server->port());
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class ReplayTest : public ::testing::Test {
 protected:
  ServerOptions Recording(std::int64_t max_bytes = 64 << 20) const {
    ServerOptions options = TestServerOptions();
    options.record_dir = folder_.File("flight");
    options.record_bytes = max_bytes;
    return options;
  }

  static Status Predict(const InProcessServer& server, int steps, const std::string& request_id,
                        std::int64_t image_count = 0) {
    auto client = *Client::Create({.address = AddressOf(server)});
    OutputOptions output;
    output.include_positions = true;
    for (std::int64_t i = 0; i < image_count; ++i) {
      RenderTarget target;
      target.name = "view_" + std::to_string(i);
      target.camera = RectifiedCamera(FakeSceneInput().observations[1].views[0].camera);
      target.camera->width_px = target.camera->height_px = 256;
      output.render_targets.push_back(target);
    }
    CallOptions call;
    call.request_id = request_id;
    return client
        ->PredictRollout(
            FakeSceneInput(), FakeActions(steps), output,
            [](const PredictedStep&) { return Status::Ok(); }, call)
        .status();
  }

  StatusOr<ReplayReport> Repeat(const std::string& file, const InProcessServer& server) {
    return Replay(file, {.address = AddressOf(server)}, [](const ReplayedCall&) {});
  }

  /// Two answers and an error, recorded by a server that has ended.
  std::string Record() {
    {
      ServingInProcessServer server(Recording());
      EXPECT_TRUE(Predict(server, 3, "first").ok());
      server.controls->nan_from_step = 2;
      EXPECT_FALSE(Predict(server, 3, "").ok());
      server.controls->nan_from_step = 1000;
      EXPECT_TRUE(Predict(server, 2, "first").ok());  // an id twice
    }
    const std::vector<std::string> files = FilesIn(folder_.File("flight"));
    EXPECT_EQ(files.size(), 1u);
    return files.front();
  }

  const TempFolder folder_;
};

TEST_F(ReplayTest, TheSameServerAnswersTheSame) {
  const std::string file = Record();
  ServingInProcessServer server;
  server.controls->nan_from_step = 2;  // as it was for the second call alone
  const auto report = Must(Repeat(file, server));
  ASSERT_EQ(report.calls.size(), 3u);
  EXPECT_EQ(report.calls[1].request_id, "#2");  // it had none
  EXPECT_TRUE(report.calls[1].is_equal) << report.calls[1].difference;
  EXPECT_THAT(report.calls[1].error, HasSubstr("PREDICTION_NOT_FINITE"));
  EXPECT_EQ(report.calls[0].difference, "recorded an answer, now error 15");
  server.controls->nan_from_step = 1000;
  const auto again = Must(Repeat(file, server));
  for (const int i : {0, 2}) {
    EXPECT_TRUE(again.calls[static_cast<std::size_t>(i)].was_whole);
    EXPECT_TRUE(again.calls[static_cast<std::size_t>(i)].is_equal);
  }
  EXPECT_FALSE(again.calls[1].is_equal);
  EXPECT_THAT(again.recorded_weights,
              ElementsAre(std::pair(std::string("fake"), std::string(64, 'a'))));
  EXPECT_EQ(again.served_weights, again.recorded_weights);
}

TEST_F(ReplayTest, AnotherAnswerIsNamed) {
  {
    ServingInProcessServer server(Recording());
    ASSERT_TRUE(Predict(server, 2, "seen", 1).ok());
  }
  ServingInProcessServer other;
  other.controls->view_offset = 0.1f;
  const auto report = Must(Repeat(FilesIn(folder_.File("flight")).front(), other));
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_FALSE(report.calls[0].is_equal);
  EXPECT_EQ(report.calls[0].difference, "message 0 differs");
}

/// What the client or the load did is not what was asked; what is no message is nobody's request.
TEST_F(ReplayTest, CancelledCallsAndBrokenRequestsDoNotFailACheck) {
  {
    ServingInProcessServer server(Recording());
    grpc::ClientContext context;
    server.controls->unit_s = 0.05;
    const auto request = MakeRolloutRequest(100);
    const auto reader = server.stub->PredictRollout(&context, request);
    v1::PredictRolloutResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_TRUE(WaitUntil([&] {
      return server.server->metrics().Text().find("interlacer_cancelled_total{") !=
             std::string::npos;
    }));
    auto refused = MakeRolloutRequest(1);
    refused.set_request_id("a b");
    grpc::ClientContext second;
    EXPECT_EQ(server.stub->PredictRollout(&second, refused)->Finish().error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    const grpc::internal::RpcMethod method("/interlacer.v1.InterlacerService/PredictRollout",
                                           grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::ClientContext third;
    const grpc::Slice slice(std::string("no message"));
    const grpc::ByteBuffer garbage(&slice, 1);
    grpc::ByteBuffer answer;
    const grpc::Status broken =
        grpc::internal::BlockingUnaryCall(server.channel.get(), method, &third, garbage, &answer);
    EXPECT_FALSE(broken.ok());
  }
  ServingInProcessServer server;
  const auto report = Must(Repeat(FilesIn(folder_.File("flight")).front(), server));
  EXPECT_EQ(report.broken_count, 1);
  ASSERT_EQ(report.calls.size(), 2u);
  EXPECT_FALSE(report.calls[0].was_whole);
  EXPECT_TRUE(report.calls[1].is_equal) << report.calls[1].difference;  // refused again
  EXPECT_THAT(report.calls[1].error, HasSubstr("REQUEST_ID_INVALID"));
}

/// As the Python client writes them: without numbers of calls.
TEST_F(ReplayTest, ErrorsFindTheirRequestByItsId) {
  ServingInProcessServer server;
  const auto write = [](std::ofstream& file, const std::string& name,
                        const google::protobuf::Message& message) {
    file << recording::RecordHead(name, message.ByteSizeLong()) << message.SerializeAsString();
  };
  const std::string path = folder_.File("client.ipb");
  {
    std::ofstream file(path, std::ios::binary);
    auto request = MakeRolloutRequest(2);
    for (const char* id : {"fails", "unknown"}) {
      request.set_request_id(id);
      write(file, "interlacer.v1.PredictRolloutRequest", request);
    }
    google::rpc::RequestInfo info;
    info.set_request_id("fails");
    google::rpc::Status status;
    status.set_code(grpc::StatusCode::DATA_LOSS);
    status.add_details()->PackFrom(info);
    write(file, "google.rpc.Status", status);
    status.clear_details();
    write(file, "google.rpc.Status", status);
  }
  for (const bool fails : {true, false}) {
    server.controls->nan_from_step = fails ? 1 : 1000;
    const auto report = Must(Repeat(path, server));
    ASSERT_EQ(report.calls.size(), 2u);
    EXPECT_TRUE(report.calls[0].was_whole);
    EXPECT_EQ(report.calls[0].is_equal, fails) << report.calls[0].difference;
    EXPECT_FALSE(report.calls[1].was_whole) << "its error names nobody";
  }
}

TEST_F(ReplayTest, CandidatesAreRepeatedAndCallsOverKeptScenesCounted) {
  {
    ServingInProcessServer server(Recording());
    const auto rollout = MakeRolloutRequest(2);
    v1::PredictCandidatesRequest request;
    *request.mutable_source() = rollout.source();
    for (int i = 0; i < 3; ++i) *request.add_candidates() = rollout.actions();
    request.mutable_output()->set_include_positions(true);
    const auto finish = [&] {
      grpc::ClientContext context;
      const auto reader = server.stub->PredictCandidates(&context, request);
      v1::PredictCandidatesResponse response;
      while (reader->Read(&response)) continue;
      return reader->Finish();
    };
    EXPECT_TRUE(finish().ok());
    request.mutable_source()->set_scene_id(std::string(32, 'a'));
    EXPECT_EQ(finish().error_code(), grpc::StatusCode::NOT_FOUND);
  }
  ServingInProcessServer server;
  const auto report = Must(Repeat(FilesIn(folder_.File("flight")).front(), server));
  EXPECT_EQ(report.kept_scene_count, 1);
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].method, "PredictCandidates");
  EXPECT_TRUE(report.calls[0].was_whole && report.calls[0].is_equal);
}

TEST_F(ReplayTest, RecordingsAreForTheServersUserAlone) {
  const std::string file = Record();
  using fs::perms;
  EXPECT_EQ(fs::status(file).permissions() & (perms::group_all | perms::others_all), perms::none);
  EXPECT_EQ(fs::status(folder_.File("flight")).permissions() & perms::others_all, perms::none);
}

// fm-38
TEST_F(ReplayTest, AFileThatWasCutIsRepeatedAsFarAsItGoes) {
  const std::string file = Record();
  fs::resize_file(file, fs::file_size(file) - 3);
  ServingInProcessServer server;
  const auto report = Must(Repeat(file, server));
  EXPECT_TRUE(report.is_cut);
  ASSERT_EQ(report.calls.size(), 3u);
  EXPECT_TRUE(report.calls[0].was_whole);
  EXPECT_FALSE(report.calls[2].was_whole);  // its last message is gone
}

TEST_F(ReplayTest, WhatIsNoRecordingIsRefused) {
  ServingInProcessServer server;
  const std::string path = folder_.File("text.rec");
  std::ofstream(path) << "\x05hello and more";
  EXPECT_EQ(Repeat(path, server).status().reason(), reason::SCHEMA_INVALID);
  std::ofstream(path) << std::string(20, '\xff');
  EXPECT_EQ(Repeat(path, server).status().reason(), reason::SCHEMA_INVALID);
  EXPECT_EQ(Repeat(folder_.File("none"), server).status().reason(), reason::FILE_NOT_FOUND);
  // A length beyond the file allocates nothing.
  std::ofstream(path) << "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  const auto cut = Must(Repeat(path, server));
  EXPECT_TRUE(cut.is_cut && cut.calls.empty());
}

TEST_F(ReplayTest, NoServerIsAnError) {
  const std::string file = Record();
  const auto report = Replay(file, {.address = "127.0.0.1:1", .deadline_s = 5}, [](auto&) {});
  EXPECT_EQ(report.status().code(), StatusCode::kUnavailable);
}

/// The oldest files go, those of an earlier server too, and each that stays can be read by itself.
TEST_F(ReplayTest, TheFolderStaysBelowItsCap) {
  constexpr std::int64_t kCap = 4 << 20;
  std::string last;
  for (int server_number = 0; server_number < 2; ++server_number) {
    ServingInProcessServer server(Recording(kCap));
    for (int call = 0; call < 12; ++call) {
      last = "call-" + std::to_string(server_number) + "-" + std::to_string(call);
      ASSERT_TRUE(Predict(server, 1, last, 2).ok());  // about 0.4 MB
    }
  }
  std::int64_t bytes = 0;
  const std::vector<std::string> files = FilesIn(folder_.File("flight"));
  for (const std::string& file : files) bytes += static_cast<std::int64_t>(fs::file_size(file));
  EXPECT_LE(bytes, kCap);
  EXPECT_GT(bytes, kCap / 2);
  EXPECT_GT(files.size(), 3u);
  std::string newest_id;
  for (const std::string& file : files) {
    auto reader = Must(RecordingReader::Open(file));
    auto first = reader.Next();
    ASSERT_TRUE(first.ok() && first->has_value());
    EXPECT_EQ((*first)->name, "interlacer.v1.GetServerInfoResponse");
  }
  ServingInProcessServer server;
  bool has_last = false;
  for (const std::string& file : files) {
    const auto report = Must(Repeat(file, server));
    for (const ReplayedCall& call : report.calls) {
      has_last = has_last || call.request_id == last;
      EXPECT_TRUE(call.is_equal || !call.was_whole) << call.difference;
    }
  }
  EXPECT_TRUE(has_last);
}

/// One call fits, the messages of the other are above an eighth of the cap.
TEST_F(ReplayTest, WhatIsLeftOutIsCounted) {
  ServingInProcessServer server(Recording(1 << 20));
  const auto is_counted = [&](int count) {
    server.server->Poll();
    return server.server->metrics().Text().find("interlacer_unrecorded_messages_total " +
                                                std::to_string(count)) != std::string::npos;
  };
  ASSERT_TRUE(Predict(server, 1, "small").ok());
  EXPECT_TRUE(WaitUntil([&] { return is_counted(0); }));
  ASSERT_TRUE(Predict(server, 1, "large", 2).ok());
  EXPECT_TRUE(WaitUntil([&] { return is_counted(1); }));
}

/// Whether the first of the files holds a whole answer.
bool HasAnswer(const std::vector<std::string>& files) {
  if (files.empty()) return false;
  auto reader = Must(RecordingReader::Open(files[0]));
  while (true) {
    const auto message = reader.Next();
    if (!message.ok() || !*message) return false;
    if ((*message)->name == "interlacer.v1.PredictRolloutResponse") return true;
  }
}

/// No file of this process grows while this lives, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ReplayTest, ADiskThatHasRoomAgainGetsWhatComesThen) {
  {
    ServingInProcessServer server(Recording());
    ASSERT_TRUE(Predict(server, 1, "before").ok());
    ASSERT_TRUE(WaitUntil([&] { return HasAnswer(FilesIn(folder_.File("flight"))); }));
    {
      const FullDisk full;
      ASSERT_TRUE(Predict(server, 1, "meanwhile").ok());
      EXPECT_TRUE(WaitUntil([&] {
        server.server->Poll();
        return server.server->metrics().Text().find("interlacer_unrecorded_messages_total 2") !=
               std::string::npos;
      }));
    }
    ASSERT_TRUE(Predict(server, 1, "after").ok());
  }
  ServingInProcessServer server;
  std::vector<std::string> whole;
  for (const std::string& file : FilesIn(folder_.File("flight"))) {
    EXPECT_GT(fs::file_size(file), 0u) << file;
    for (const ReplayedCall& call : Must(Repeat(file, server)).calls) {
      if (call.is_equal) whole.push_back(call.request_id);
    }
  }
  EXPECT_THAT(whole, ElementsAre("before", "after"));
}

TEST_F(ReplayTest, AFolderThatCannotBeWrittenIsRefusedAtStart) {
  ServerOptions options = Recording();
  std::ofstream(folder_.File("file")) << "x";
  options.record_dir = folder_.File("file");
  const auto started = InterlacerServer::Start(options, {});
  EXPECT_EQ(started.status().field(), "record-dir");
  options = Recording(1000);
  EXPECT_EQ(InterlacerServer::Start(options, {}).status().field(), "record-bytes");
}

}  // namespace
}  // namespace interlacer::testing
