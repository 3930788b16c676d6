/// What the server does under cancels, deadlines, load, failures and shutdown, with a fake model.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "common/duration.h"
#include "tests/server/rollout_call.h"

namespace interlacer::testing {
namespace {

TEST(Cancel, StopsWithinOneUnitAndFreesTheDevice) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 0.1;
  const auto fixture = std::make_unique<ServingInProcessServer>(TestServerOptions(), controls);
  fixture->controls->gate.Close();
  Call call(fixture.get(), MakeRolloutRequest(50));
  fixture->controls->gate.Allow(4);
  ASSERT_TRUE(call.Read());
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  const int steps_before = fixture->controls->step_count;
  EXPECT_GT(fixture->server->worker().CostAheadS(0), 0);
  call.context.TryCancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // The server hears of the cancel on its own thread; the unit at the gate is let through after.
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().CostAheadS(0) == 0; }));
  fixture->controls->gate.Open();
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_LE(fixture->controls->step_count, steps_before + 1);
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_cancelled_total{where=\"running\"} 1"));
}

// fm-15
TEST(Cancel, AtEveryStepAndManyTimesInARow) {
  auto fixture = ServingServer();
  for (int i = 0; i < 1000; ++i) {
    Call call(fixture.get(), MakeRolloutRequest(20));
    for (int reads = 0; reads < i % 5; ++reads) call.Read();
    call.context.TryCancel();
    call.Finish();
  }
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  // The front door has refused some: more of this connection were taken back before an answer than
  // it lets in so short a time. A moment later it lets calls through again.
  EXPECT_TRUE(WaitUntil([&] { return Call(fixture.get(), MakeRolloutRequest(2)).Finish().ok(); }));
}

// fm-14
TEST(Deadline, TooShortForTheEstimateIsRefusedBeforeWork) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 1;
  ServingInProcessServer fixture(TestServerOptions(), controls);
  ExpectRefused(Call(&fixture, MakeRolloutRequest(10), 5).Finish(),
                grpc::StatusCode::DEADLINE_EXCEEDED, "DEADLINE_TOO_SHORT");
  EXPECT_EQ(controls->lift_count, 0);
}

TEST(Deadline, EstimatesViewsOfSceneCamerasAtTheSizeOfTheModel) {
  auto controls = std::make_shared<ServerControls>();
  controls->render_cost_s = 4.0 * (320 * 240) / kModelViewPx;  // 4 s a view; 16 s at the frames'
  ServingInProcessServer fixture(TestServerOptions(), controls);
  const grpc::Status status = Call(&fixture, WideSceneCameraRequest(), 10).Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(HasMetric(
      fixture, "interlacer_rendered_pixels_total{model=\"fake\"} " + std::to_string(kModelViewPx)));
}

TEST(Deadline, CarryingObservedPixelsIsEstimatedWhereItIsDone) {
  auto controls = std::make_shared<ServerControls>();
  controls->carry_cost_s = 16;
  ServingInProcessServer fixture(TestServerOptions(), controls);
  auto request = WideSceneCameraRequest();
  const grpc::Status refused = Call(&fixture, request, 10).Finish();
  EXPECT_EQ(ReadDetails(refused).info.reason(), "DEADLINE_TOO_SHORT");
  request.mutable_output()->set_render_mode(v1::RENDER_MODE_FIELD);
  EXPECT_TRUE(Call(&fixture, request, 10).Finish().ok());
}

// fm-14
TEST(Deadline, PassingInTheQueueOrMidRolloutStopsWork) {
  auto fixture = ServingServer();
  fixture->controls->gate.Close();
  Call running(fixture.get(), MakeRolloutRequest(50), 0.3);
  Call waiting(fixture.get(), MakeRolloutRequest(50), 0.3);
  fixture->controls->gate.Allow(3);
  EXPECT_EQ(running.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(waiting.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // The client's clock may ring first: wait until the server has dropped the call that waits.
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fixture->controls->gate.Open();
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_LE(fixture->controls->step_count, 4);
  EXPECT_LE(fixture->controls->lift_count, 2);
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(2)).Finish().ok());
}

/// The client's own clock ends the calls too; what the server did for them is seen by its lifts.
// fm-14
TEST(Deadline, OfOneMillisecondHarmsNobody) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 0.01;  // a hundred steps cannot be done in time
  ServingInProcessServer fixture(TestServerOptions(), controls);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Call(&fixture, MakeRolloutRequest(100), 0.001).Finish().ok());
  }
  EXPECT_TRUE(Call(&fixture, MakeRolloutRequest(2)).Finish().ok());
  EXPECT_EQ(controls->lift_count, 1) << "it worked for calls that had no time";
  EXPECT_EQ(controls->step_count, 2);
}

TEST(Deadline, TheServerHasALimitOfItsOwn) {
  auto fixture = ServingServer(TestServerOptions({.max_call_duration_s = 0.2}));
  fixture->controls->unit_s = 0.02;
  ExpectRefused(Call(fixture.get(), MakeRolloutRequest(100)).Finish(),
                grpc::StatusCode::DEADLINE_EXCEEDED, "CALL_TOO_LONG");
}

// fm-18
TEST(Queue, FullIsRefusedAtOnceWithARetryDelay) {
  auto fixture = ServingServer(TestServerOptions({.max_queue_length = 2, .max_active_calls = 1}));
  fixture->controls->gate.Close();
  std::vector<std::unique_ptr<Call>> accepted;
  for (int i = 0; i < 3; ++i) {
    accepted.push_back(std::make_unique<Call>(fixture.get(), MakeRolloutRequest(2)));
    ASSERT_TRUE(WaitUntil([&] {
      return fixture->server->worker().active_count() + fixture->server->worker().queue_length() ==
             i + 1;
    }));
  }
  // The fastest of a few: a busy machine may stop any of them.
  grpc::Status status;
  double fastest_s = 1;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    status = Call(fixture.get(), MakeRolloutRequest(2)).Finish();
    fastest_s = std::min(fastest_s, SecondsSince(start));
  }
  EXPECT_LT(fastest_s, 0.05);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ErrorDetails details = ReadDetails(status);
  EXPECT_EQ(details.info.reason(), "QUEUE_FULL");
  EXPECT_TRUE(details.retry.has_retry_delay());
  fixture->controls->gate.Open();
  for (auto& call : accepted) EXPECT_TRUE(call->Finish().ok());
}

// fm-19
TEST(Queue, ControlCallsOvertakeBetweenUnits) {
  auto fixture = ServingServer();
  fixture->controls->gate.Close();
  auto slow = MakeRolloutRequest(100);
  slow.set_priority(v1::REQUEST_PRIORITY_BACKGROUND);
  Call background(fixture.get(), slow);
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  auto urgent = MakeRolloutRequest(2);
  urgent.set_priority(v1::REQUEST_PRIORITY_CONTROL);
  Call control(fixture.get(), urgent);
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() == 1; }));
  // The decoder may still be at work on it; the background call is held at the gate meanwhile.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fixture->controls->gate.Allow(1 + 3);  // the unit at the gate; lift and two steps of the other
  EXPECT_TRUE(control.Finish().ok());
  EXPECT_EQ(fixture->controls->step_count, 2);
  fixture->controls->gate.Open();
  EXPECT_TRUE(background.Finish().ok());
}

struct SentOutput {
  const char* name;
  bool positions, images;
};

class PredictionWith : public ::testing::TestWithParam<SentOutput> {};

// fm-25
TEST_P(PredictionWith, StepsBeforeANanStayValid) {
  auto fixture = ServingServer();
  fixture->controls->nan_from_step = 3;
  auto request = MakeRolloutRequest(5);
  v1::OutputOptions* output = request.mutable_output();
  output->set_include_positions(GetParam().positions);
  output->set_include_colors(false);
  if (GetParam().images) {
    AddView(output, "view", "left");
  }
  Call call(fixture.get(), request);
  EXPECT_TRUE(call.Read());
  EXPECT_TRUE(call.Read());
  EXPECT_FALSE(call.Read());
  const grpc::Status status = call.reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(ReadDetails(status).info.reason(), "PREDICTION_NOT_FINITE");
  EXPECT_EQ(ReadDetails(status).info.metadata().at("step"), "3");
}

INSTANTIATE_TEST_SUITE_P(All, PredictionWith,
                         ::testing::Values(SentOutput{"Positions", true, false},
                                           SentOutput{"Images", false, true},
                                           SentOutput{"Neither", false, false}),
                         [](const auto& test) { return test.param.name; });

// fm-22
TEST(Prediction, ALostDeviceEndsTheServer) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_status = Status(StatusCode::kInternal, reason::DEVICE_LOST, "sticky error");
  ServingInProcessServer fixture(TestServerOptions(), controls);
  ExpectRefused(Call(&fixture, MakeRolloutRequest(2)).Finish(), grpc::StatusCode::INTERNAL,
                "DEVICE_LOST");
  ASSERT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kInternal; }));
  EXPECT_EQ(ReadDetails(Call(&fixture, MakeRolloutRequest(1)).Finish()).info.reason(),
            "DEVICE_LOST");
}

}  // namespace
}  // namespace interlacer::testing
