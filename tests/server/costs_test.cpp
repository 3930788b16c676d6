/// What calls measure reaches the estimates of later ones, the metadata and the metrics.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/server/rollout_call.h"
#include "tests/server/still_predictor.h"

namespace interlacer::testing {
namespace {

constexpr double kUnitS = 0.02;

v1::GetModelMetadataResponse Metadata(const InProcessServer& fixture) {
  grpc::ClientContext context;
  v1::GetModelMetadataResponse response;
  EXPECT_TRUE(fixture.stub->GetModelMetadata(&context, {}, &response).ok());
  return response;
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
}

TEST(Costs, OfASlowWarmUpAreForgotten) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 1;
  ServingInProcessServer fixture(TestServerOptions(), controls);
  const auto short_deadline = [&] { return Call(&fixture, MakeRolloutRequest(10), 5).Finish(); };
  EXPECT_EQ(ReadDetails(short_deadline()).info.reason(), "DEADLINE_TOO_SHORT");
  EXPECT_TRUE(Call(&fixture, MakeRolloutRequest(40), 60).Finish().ok());
  EXPECT_LT(Seconds(Metadata(fixture).step_cost()), 0.5);
  const grpc::Status status = short_deadline();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GE(Seconds(Metadata(fixture).longest_unit()), 1) << "it includes the warm-up";
}

TEST(Costs, ThatRiseRefuseDeadlines) {
  auto fixture = ServingServer();
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(100), 1).Finish().ok());
  fixture->controls->unit_s = kUnitS;
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(40)).Finish().ok());
  const grpc::Status status = Call(fixture.get(), MakeRolloutRequest(100), 1).Finish();
  EXPECT_EQ(ReadDetails(status).info.reason(), "DEADLINE_TOO_SHORT") << status.error_message();
}

TEST(Costs, OfStepsWithASpreadCountFourTimes) {
  auto controls = std::make_shared<ServerControls>();
  controls->step_cost_s = 0.1;
  ServingInProcessServer fixture(TestServerOptions(), controls);
  auto request = MakeRolloutRequest(100);
  const auto needed_s = [&] {
    const ErrorDetails details = ReadDetails(Call(&fixture, request, 2).Finish());
    EXPECT_EQ(details.info.reason(), "DEADLINE_TOO_SHORT");
    const auto expected = details.info.metadata().find("expected");
    return expected == details.info.metadata().end() ? 0 : std::stod(expected->second);
  };
  EXPECT_NEAR(needed_s(), 10, 1);
  request.mutable_output()->set_include_spread(true);
  EXPECT_NEAR(needed_s(), 40, 4);
}

/// A server whose model asks no network for scenes without a robot.
std::unique_ptr<InProcessServer> StillServer(double step_cost_s) {
  auto fixture = std::make_unique<InProcessServer>();
  const auto load = [controls = fixture->controls]() -> StatusOr<std::unique_ptr<Predictor>> {
    return std::unique_ptr<Predictor>(
        std::make_unique<StillPredictor>(controls, /*is_always_still=*/false));
  };
  const auto warm_up = [step_cost_s](const std::stop_token&, ServedModel* model) {
    model->metadata.step_cost_s = step_cost_s;
    return Status::Ok();
  };
  fixture->server = Must(
      InterlacerServer::Start(TestServerOptions(), {{FakeMetadata().model_name, load, warm_up}}));
  fixture->Connect();
  EXPECT_TRUE(fixture->WaitForServing());
  return fixture;
}

TEST(Costs, OfStepsThatAskNoNetworkAreNeitherEstimatedNorNoted) {
  const auto fixture = StillServer(1);
  auto robot_only = MakeRolloutRequest(100);
  robot_only.mutable_output()->set_motion(v1::MOTION_SOURCE_ROBOT_ONLY);
  auto no_robot = MakeRolloutRequest(1);
  no_robot.clear_actions();
  no_robot.mutable_source()->mutable_scene_input()->clear_history_actions();
  no_robot.mutable_output()->add_steps(100);
  for (const auto& request : {robot_only, no_robot}) {
    const grpc::Status status = Call(fixture.get(), request, 5).Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(Seconds(Metadata(*fixture).step_cost()), 1);
  }
  EXPECT_EQ(fixture->controls->step_count, 200);
  EXPECT_EQ(ReadDetails(Call(fixture.get(), MakeRolloutRequest(100), 5).Finish()).info.reason(),
            "DEADLINE_TOO_SHORT");
}

/// A running mean has taken over a tenth of the first value.
TEST(Costs, OfEveryKindOfWorkArePublished) {
  auto fixture = ServingServer();
  fixture->controls->unit_s = kUnitS;
  auto request = MakeRolloutRequest(1);
  AddView(request.mutable_output(), "view", "left");
  EXPECT_TRUE(Call(fixture.get(), request).Finish().ok());
  v1::GetModelMetadataResponse costs = Metadata(*fixture);
  EXPECT_GE(Seconds(costs.step_cost()), 0.099 * kUnitS);
  EXPECT_GE(Seconds(costs.ingest_cost()), 0.099 * kUnitS);
  EXPECT_GE(Seconds(costs.carry_cost()), 0.099 * kUnitS);
  EXPECT_EQ(Seconds(costs.render_cost()), 0) << "holes say nothing of the field";
  EXPECT_GE(Seconds(costs.longest_unit()), kUnitS);
  request.mutable_output()->set_render_mode(v1::RENDER_MODE_FIELD);
  EXPECT_TRUE(Call(fixture.get(), request).Finish().ok());
  // By pixels: the fake's view is smaller than that of the published figure.
  EXPECT_GE(Seconds(Metadata(*fixture).render_cost()), 0.099 * kUnitS * (320 * 240) / kModelViewPx);
}

TEST(Costs, UnitsAreCountedByModel) {
  auto fixture = ServingServer();
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(4)).Finish().ok());
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_unit_duration_seconds_count{model=\"fake\"} 5"))
      << "a lift and four steps";
}

}  // namespace
}  // namespace interlacer::testing
