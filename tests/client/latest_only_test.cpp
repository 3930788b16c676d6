#include "client/latest_only.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/support/in_process_server.h"
#include "tests/support/must.h"

namespace interlacer::testing {
namespace {

class LatestOnlyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.WaitForServing());
    client_ = *Client::Create(
        {.address = "127.0.0.1:" + std::to_string(server_.server->port()), .retry = false});
  }

  std::unique_ptr<LatestOnly> Make(double max_age_s) {
    return *LatestOnly::Create(client_.get(), max_age_s, {});
  }
  static std::future<StatusOr<LatestAnswer>> Submit(LatestOnly* latest, double age_s = 0) {
    return latest->Submit(FakeSceneInput(), FakeActions(2), {}, age_s);
  }
  /// A request whose call waits in the server.
  std::future<StatusOr<LatestAnswer>> SubmitHeld(LatestOnly* latest) {
    server_.controls->gate.Close();
    auto held = Submit(latest);
    EXPECT_TRUE(server_.controls->gate.WaitForUnit());
    return held;
  }

  InProcessServer server_;
  std::unique_ptr<Client> client_;
};

TEST_F(LatestOnlyTest, ARequestAloneIsAnswered) {
  const auto latest = Make(60);
  const auto answer = Must(Submit(latest.get(), 0.5).get());
  EXPECT_EQ(answer.word, AnswerWord::kFresh);
  EXPECT_EQ(answer.steps.back().step, 2);
  EXPECT_EQ(answer.summary.computed_step_count, 2);
  EXPECT_GE(answer.age_s, 0.5);
}

TEST_F(LatestOnlyTest, ANewerRequestTakesThePlaceOfTheWaitingOne) {
  const auto latest = Make(60);
  auto first = SubmitHeld(latest.get());
  auto second = Submit(latest.get()), third = Submit(latest.get());
  const auto word = Must(second.get());
  EXPECT_EQ(word.word, AnswerWord::kSuperseded);
  EXPECT_TRUE(word.steps.empty());
  server_.controls->gate.Open();
  EXPECT_EQ(first.get()->word, AnswerWord::kFresh) << "what was sent is not taken back";
  EXPECT_EQ(third.get()->word, AnswerWord::kFresh);
}

TEST_F(LatestOnlyTest, WhatIsTooOldIsStaleAndCostsTheServerNothing) {
  const auto latest = Make(0.3);
  EXPECT_EQ(Submit(latest.get(), 1).get()->word, AnswerWord::kStale);
  EXPECT_EQ(server_.controls->lift_count, 0) << "it was not sent";
  auto held = SubmitHeld(latest.get());
  const auto word = Must(held.get());
  EXPECT_EQ(word.word, AnswerWord::kStale);
  EXPECT_GE(word.age_s, 0.3);
}

TEST_F(LatestOnlyTest, TheEndOfItGivesEveryRequestAWord) {
  auto latest = Make(60);
  auto held = SubmitHeld(latest.get()), waiting = Submit(latest.get());
  latest.reset();
  EXPECT_EQ(held.get().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(waiting.get().status().code(), StatusCode::kCancelled);
}

TEST_F(LatestOnlyTest, ErrorsOfACallAreThoseOfItsRequest) {
  const auto latest = Make(60);
  SceneInput broken = FakeSceneInput();
  broken.observations[1].views[0].camera.world_from_camera.rotation_xyzw = {0, 0, 0, 2};
  const auto refused = latest->Submit(broken, FakeActions(1), {}).get();
  EXPECT_EQ(refused.status().reason(), reason::QUATERNION_NOT_UNIT);
  EXPECT_EQ(Submit(latest.get()).get()->word, AnswerWord::kFresh) << "the next one is served";
  for (const double age_s : {0.0, -1.0, std::nan("")}) {
    const Status status = LatestOnly::Create(client_.get(), age_s, {}).status();
    EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID);
    EXPECT_EQ(status.field(), "max_age_s");
  }
}

}  // namespace
}  // namespace interlacer::testing
