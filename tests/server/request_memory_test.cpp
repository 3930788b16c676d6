/// How long the bytes of a request are held, and answers of methods that ask no device.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "server/transport/interlacer_service.h"
#include "tests/server/rollout_call.h"
#include "tests/support/raw_http2.h"

namespace interlacer::testing {
namespace {

/// The service on parts of its own, called as the library does, which keeps request and response.
class RequestMemoryTest : public ::testing::Test {
 protected:
  RequestMemoryTest()
      : models_({{"fake",
                  [] {
                    return StatusOr<std::unique_ptr<Predictor>>(std::make_unique<FakePredictor>());
                  },
                  [](const std::stop_token&, ServedModel*) { return Status::Ok(); }}}),
        context_{limits_, "instance", state_,   models_,     worker_, decoders_,
                 frames_, memory_,    metrics_, statistics_, calls_,  scenes_} {
    EXPECT_TRUE(models_.LoadAll({}).ok());
    EXPECT_TRUE(models_.WarmUpAll({}).ok());
    state_.Advance(ServerState::kServing);
  }

  /// A request whose bytes say when they are freed.
  grpc::ByteBuffer Request(const google::protobuf::Message& message) {
    bytes_ = message.SerializeAsString();
    is_freed_ = false;
    const grpc::Slice slice(
        bytes_.data(), bytes_.size(),
        [](void* is_freed) { *static_cast<std::atomic<bool>*>(is_freed) = true; }, &is_freed_);
    return grpc::ByteBuffer(&slice, 1);
  }

  const Limits limits_;
  Metrics metrics_;
  ModelStatistics statistics_;
  ServerStateMachine state_{[](ServerState) {}};
  ModelRegistry models_;
  MemoryBudget memory_{1 << 20};
  CallRegistry calls_;
  const ServerContext context_;
  DeviceWorker worker_{2, 2};
  SceneStore scenes_{1, 1 << 20, [](std::shared_ptr<const Scene>) {}, [](const char*) {}};
  FramePool frames_{4, 1 << 20};
  DecodePool decoders_{1};
  InterlacerService service_{&context_};
  std::string bytes_;
  std::atomic<bool> is_freed_{false};
  grpc::CallbackServerContext call_;
  grpc::ByteBuffer response_;
};

TEST_F(RequestMemoryTest, OfAnAnswerAtOnceNothingIsHeld) {
  v1::GetStatisticsRequest padded;
  padded.GetReflection()->MutableUnknownFields(&padded)->AddLengthDelimited(
      15, std::string(60'000, 'x'));
  grpc::ByteBuffer request = Request(padded);
  const std::unique_ptr<grpc::ServerUnaryReactor> reactor(
      service_.GetStatistics(&call_, &request, &response_));
  EXPECT_TRUE(is_freed_);
  EXPECT_EQ(calls_.count(), 1) << "its answer waits for a reader";
}

TEST_F(RequestMemoryTest, OfDecodedFramesNothingIsHeldUntilTheAnswerIsRead) {
  grpc::ByteBuffer request = Request(MakeSceneRequest<v1::ValidateSceneRequest>());
  const std::unique_ptr<grpc::ServerUnaryReactor> reactor(
      service_.ValidateScene(&call_, &request, &response_));
  EXPECT_TRUE(is_freed_) << "small frames are decoded at once";
  ASSERT_TRUE(WaitUntil([&] {
    return metrics_.Text().find("code=\"OK\",method=\"ValidateScene\"") != std::string::npos;
  }));
  EXPECT_TRUE(worker_.AwaitTurn({}, Clock::now() + std::chrono::seconds(10)));
  EXPECT_GT(response_.Length(), 0u);
  EXPECT_EQ(memory_.used_bytes(), 0);
  EXPECT_EQ(calls_.count(), 1);
}

TEST_F(RequestMemoryTest, OfARefusedRequestNothingIsHeld) {
  auto message = MakeSceneRequest<v1::ValidateSceneRequest>();
  message.set_model_name("nobody");
  grpc::ByteBuffer request = Request(message);
  const std::unique_ptr<grpc::ServerUnaryReactor> reactor(
      service_.ValidateScene(&call_, &request, &response_));
  EXPECT_TRUE(is_freed_);
}

// fm-17
TEST(UnreadAnswers, OfMethodsThatAskNoDeviceEndAfterTheTimeOfSlowReaders) {
  auto fixture = ServingServer(TestServerOptions({.slow_reader_timeout_s = 0.2}));
  RawHttp2 client(fixture->server->port(), /*initial_window=*/0);
  for (const char* method : {"GetServerInfo", "GetModelMetadata", "GetStatistics"}) {
    const std::uint32_t call = client.Open(std::string(kServicePath) + method);
    client.Data(call, MessagePrefix(0), true);
    EXPECT_TRUE(client.ReadUntil([&] {
      fixture->server->Poll();
      return client.stream(call).is_over();
    })) << method;
  }
  EXPECT_FALSE(client.has_goaway());
}

}  // namespace
}  // namespace interlacer::testing
