/// Scenes whose names never reach their clients.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/server/scene_client.h"
#include "tests/support/raw_http2.h"

namespace interlacer::testing {
namespace {

/// A server with room for one scene, which a client has made that does not read its name.
class LostSceneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    client_ = std::make_unique<RawHttp2>(fixture_.server->port(), /*initial_window=*/0);
    call_ = client_->Open(std::string(kServicePath) + "CreateScene");
    const std::string request = MakeSceneRequest<v1::CreateSceneRequest>().SerializeAsString();
    client_->Data(call_, MessagePrefix(static_cast<std::uint32_t>(request.size())) + request, true);
    ASSERT_TRUE(HasMetric(fixture_, "code=\"OK\",method=\"CreateScene\""));
    ASSERT_EQ(ReadDetails(CreateAnother()).info.reason(), "SCENE_LIMIT");
  }
  grpc::Status CreateAnother() {
    v1::CreateSceneResponse response;
    return Create(&fixture_, MakeSceneRequest<v1::CreateSceneRequest>(), &response);
  }

  ServingInProcessServer fixture_{
      TestServerOptions({.max_scene_count = 1, .slow_reader_timeout_s = 0.2})};
  std::unique_ptr<RawHttp2> client_;
  std::uint32_t call_ = 0;
};

// fm-32
TEST_F(LostSceneTest, ThatIsNotReadGoesWithItsCall) {
  EXPECT_TRUE(client_->ReadUntil([&] {
    fixture_.server->Poll();
    return client_->stream(call_).is_over();
  }));
  const grpc::Status status = CreateAnother();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// fm-32
TEST_F(LostSceneTest, OfAClientThatHasGoneGoesToo) {
  client_.reset();
  EXPECT_TRUE(WaitUntil([&] { return CreateAnother().ok(); }));
}

TEST(FoundScene, OutlivesTheConnectionThatMadeIt) {
  ServingInProcessServer fixture;
  for (int i = 0; i < 20; ++i) {
    const std::string id = CreateScene(&fixture);
    fixture.Connect();
    const auto answer = Predict(&fixture, RolloutOf(id, 1));
    ASSERT_TRUE(answer.status.ok()) << i << ": " << answer.status.error_message();
    ASSERT_TRUE(Delete(&fixture, id).ok());
  }
}

}  // namespace
}  // namespace interlacer::testing
