#include "client/recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/interlacer_client.h"
#include "client/recording.h"
#include "client/replay.h"
#include "tests/support/in_process_server.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

std::vector<std::string> NamesIn(const std::string& file) {
  auto reader = *RecordingReader::Open(file);
  std::vector<std::string> names;
  while (auto message = *reader.Next()) {
    if (message->name != "google.protobuf.UInt64Value") names.push_back(message->name);
  }
  return names;
}

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.WaitForServing()); }

  std::string Address() const { return "127.0.0.1:" + std::to_string(server_.server->port()); }
  Status Predict(const std::shared_ptr<Recorder>& recorder, int steps) const {
    const auto client = *Client::Create({.address = Address(), .recorder = recorder});
    return client
        ->PredictRollout(FakeSceneInput(), FakeActions(steps), {},
                         [](const PredictedStep&) { return Status::Ok(); }, {})
        .status();
  }

  InProcessServer server_;
  const TempFolder folder_;
  const std::string file_ = folder_.File("wire.rec");
};

TEST_F(RecorderTest, WhatWasSentAndCameCanBeRepeated) {
  {
    const auto recorder = *Recorder::Open(file_);
    const auto client = *Client::Create({.address = Address(), .recorder = recorder});
    ASSERT_TRUE(client->GetModelMetadata({}).ok());
    ASSERT_TRUE(Predict(recorder, 2).ok());
    server_.controls->nan_from_step = 1;
    ASSERT_FALSE(Predict(recorder, 1).ok());
    EXPECT_EQ(recorder->dropped_count(), 0);
  }
  const std::string v1 = "interlacer.v1.";
  EXPECT_THAT(NamesIn(file_),
              ElementsAre(v1 + "GetModelMetadataRequest", v1 + "GetModelMetadataResponse",
                          v1 + "PredictRolloutRequest", v1 + "PredictRolloutResponse",
                          v1 + "PredictRolloutResponse", v1 + "PredictRolloutRequest",
                          "google.rpc.Status"));
  server_.controls->nan_from_step = 1000;
  const auto report = Must(Replay(file_, {.address = Address()}, [](const ReplayedCall&) {}));
  ASSERT_EQ(report.calls.size(), 2u);
  EXPECT_TRUE(report.calls[0].is_equal) << report.calls[0].difference;
  EXPECT_FALSE(report.calls[1].is_equal) << "it failed when it was recorded";
  EXPECT_EQ(report.recorded_weights, report.served_weights);
}

TEST_F(RecorderTest, CallsOfSeveralThreadsStayApart) {
  {
    const auto recorder = *Recorder::Open(file_);
    std::vector<std::jthread> threads;
    for (int i = 1; i <= 4; ++i) {
      threads.emplace_back([&, i] { EXPECT_TRUE(Predict(recorder, i).ok()); });
    }
  }
  const auto report = *Replay(file_, {.address = Address()}, [](const ReplayedCall&) {});
  ASSERT_EQ(report.calls.size(), 4u);
  for (const ReplayedCall& call : report.calls) {
    EXPECT_TRUE(call.was_whole);
    EXPECT_TRUE(call.is_equal) << call.difference;
  }
}

TEST_F(RecorderTest, PastItsSizeItEndsAndCountsWhatItLacks) {
  const auto recorder = *Recorder::Open(file_, 1000);
  recorder->Write(recorder->NewCall(), "google.rpc.Status", "");
  ASSERT_TRUE(Predict(recorder, 2).ok());
  EXPECT_EQ(recorder->dropped_count(), 3) << "two frames are larger, the answers come after them";
  recorder->Write(recorder->NewCall(), "google.rpc.Status", "");
  EXPECT_EQ(recorder->dropped_count(), 4) << "also of what would have room";
  EXPECT_THAT(NamesIn(file_), ElementsAre("google.rpc.Status"));
}

TEST_F(RecorderTest, AFolderThatIsNotThereIsNamed) {
  const Status status = Recorder::Open(folder_.File("none/wire.rec")).status();
  EXPECT_EQ(status.reason(), reason::FILE_UNWRITABLE);
  EXPECT_NE(status.message().find("none/wire.rec"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace interlacer::testing
