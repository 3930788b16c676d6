/// Start, health, readiness, draining, addresses, information.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "tests/server/health_client.h"
#include "tests/server/rollout_call.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

constexpr char kService[] = "interlacer.v1.InterlacerService";

grpc::Status Predict(InProcessServer* fixture, int step_count = 1) {
  return Call(fixture, MakeRolloutRequest(step_count)).Finish();
}

v1::GetServerInfoResponse Info(InProcessServer* fixture) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse response;
  EXPECT_TRUE(fixture->stub->GetServerInfo(&context, {}, &response).ok());
  return response;
}

// fm-29
TEST(Health, FollowsTheStateFromStartToDrain) {
  auto controls = std::make_shared<ServerControls>();
  controls->warm_up_gate.Close();
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(controls->warm_up_gate.WaitForUnit());
  EXPECT_EQ(CheckHealth(fixture.channel, ""), Health::kNotServing);
  EXPECT_EQ(CheckHealth(fixture.channel, kService), Health::kNotServing);
  EXPECT_EQ(CheckHealth(fixture.channel, "live"), Health::kServing);
  EXPECT_EQ(CheckHealth(fixture.channel, "nobody"), Health::kUnknown);
  EXPECT_EQ(Info(&fixture).state(), v1::SERVER_STATE_WARMING_UP);
  EXPECT_EQ(Info(&fixture).models(0).state(), v1::MODEL_STATE_LOADING);
  ExpectRefused(Predict(&fixture), grpc::StatusCode::UNAVAILABLE, "MODEL_LOADING");

  controls->warm_up_gate.Open();
  ASSERT_TRUE(fixture.WaitForServing());
  EXPECT_EQ(CheckHealth(fixture.channel, ""), Health::kServing);
  EXPECT_EQ(CheckHealth(fixture.channel, kService), Health::kServing);
  EXPECT_EQ(Info(&fixture).models(0).state(), v1::MODEL_STATE_READY);
  EXPECT_TRUE(Predict(&fixture).ok());

  fixture.server->Drain();
  EXPECT_EQ(CheckHealth(fixture.channel, kService), Health::kNotServing);
  EXPECT_EQ(CheckHealth(fixture.channel, "live"), Health::kServing);
}

// fm-29
TEST(Health, WatchSeesTheTransitions) {
  auto controls = std::make_shared<ServerControls>();
  controls->warm_up_gate.Close();
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(controls->warm_up_gate.WaitForUnit());
  HealthWatch watch(fixture.channel, kService);
  EXPECT_EQ(watch.Next(), Health::kNotServing);
  controls->warm_up_gate.Open();
  EXPECT_EQ(watch.Next(), Health::kServing);
  fixture.server->Drain();
  EXPECT_EQ(watch.Next(), Health::kNotServing);
}

// fm-26
TEST(Drain, RefusesNewCallsAndFinishesThoseInFlight) {
  ServingInProcessServer fixture;
  fixture.controls->gate.Close();
  auto in_flight = std::async(std::launch::async, [&] { return Predict(&fixture, 5); });
  ASSERT_TRUE(fixture.controls->gate.WaitForUnit());
  fixture.server->Drain();
  EXPECT_EQ(fixture.server->Poll(), std::nullopt);
  ExpectRefused(Predict(&fixture), grpc::StatusCode::UNAVAILABLE, "DRAINING");
  fixture.controls->gate.Open();
  EXPECT_TRUE(in_flight.get().ok());
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kDone; }));
}

TEST(Drain, CancelsWhatOutlivesTheTimeout) {
  ServingInProcessServer fixture(TestServerOptions({.drain_timeout_s = 0.1}));
  fixture.controls->unit_s = 0.02;
  auto in_flight = std::async(std::launch::async, [&] { return Predict(&fixture, 128); });
  ASSERT_TRUE(WaitUntil([&] { return fixture.controls->step_count > 0; }));
  fixture.server->Drain();
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kDone; }));
  EXPECT_EQ(ReadDetails(in_flight.get()).info.reason(), "DRAINING");
}

// fm-27
TEST(Restart, ARunningClientFindsTheNewServerAndLearnsThatItsSceneIsGone) {
  auto fixture = std::make_unique<InProcessServer>();
  ASSERT_TRUE(fixture->WaitForServing());
  ServerOptions options = TestServerOptions();
  options.address = "127.0.0.1:" + std::to_string(fixture->server->port());
  const auto stub = v1::InterlacerService::NewStub(fixture->channel);
  const auto create = MakeSceneRequest<v1::CreateSceneRequest>();
  v1::CreateSceneResponse scene;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(stub->CreateScene(&context, create, &scene).ok());
  }
  fixture.reset();
  v1::GetServerInfoResponse info;
  {
    grpc::ClientContext context;
    EXPECT_EQ(stub->GetServerInfo(&context, {}, &info).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  ServingInProcessServer next(options);
  {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    EXPECT_TRUE(stub->GetServerInfo(&context, {}, &info).ok());
  }
  grpc::ClientContext context;
  auto request = MakeRolloutRequest(1);
  request.mutable_source()->set_scene_id(scene.scene_id());
  auto reader = stub->PredictRollout(&context, request);
  v1::PredictRolloutResponse message;
  EXPECT_FALSE(reader->Read(&message));
  EXPECT_EQ(ReadDetails(reader->Finish()).info.reason(), "SCENE_NOT_FOUND");
}

// fm-26
TEST(Drain, WhileLoadingNeverBecomesReady) {
  auto controls = std::make_shared<ServerControls>();
  controls->warm_up_gate.Close();
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(controls->warm_up_gate.WaitForUnit());
  fixture.server->Drain();
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kDone; }));
  controls->warm_up_gate.Open();
  EXPECT_EQ(fixture.server->state(), ServerState::kDraining);
}

// fm-24
TEST(Load, AFailedWarmUpEndsTheServerWithCodeThree) {
  auto controls = std::make_shared<ServerControls>();
  controls->warm_up_status = FailedPrecondition(reason::MODEL_LOAD_FAILED, "values differ");
  InProcessServer fixture(TestServerOptions(), controls);
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kBadModel; }));
  EXPECT_NE(fixture.server->state(), ServerState::kServing);
}

/// Of three priorities four calls each that take turns and twelve that may wait for their readers,
/// of which one is within a unit with 1000 and 47 are at rest with 100; and sixteen scenes of 50.
// fm-21
TEST(Load, LimitsThatTheDeviceCannotHoldEndTheServer) {
  const auto exit_with = [&](std::int64_t free_bytes, std::int64_t total_bytes) {
    auto controls = std::make_shared<ServerControls>();
    controls->warm_up_memory = ModelMemory{100, 1000, 50, free_bytes, total_bytes};
    InProcessServer fixture(TestServerOptions({.max_queue_length = 8,
                                               .max_active_calls = 4,
                                               .max_scene_count = 16,
                                               .max_scene_bytes = 1 << 20}),
                            controls);
    std::optional<ServerExit> exit;
    EXPECT_TRUE(WaitUntil([&] {
      exit = fixture.server->Poll();
      return exit.has_value() || fixture.server->state() == ServerState::kServing;
    }));
    return exit;
  };
  EXPECT_EQ(exit_with(6500, 8000), std::nullopt);
  EXPECT_EQ(exit_with(6499, 8000), ServerExit::kInternal) << "others may free what is missing";
  EXPECT_EQ(exit_with(6000, 6000), ServerExit::kUsage);
}

// fm-23
TEST(Load, AnAbsentDeviceEndsTheServerWithCodeSeven) {
  auto controls = std::make_shared<ServerControls>();
  controls->warm_up_status = FailedPrecondition(reason::DEVICE_ABSENT, "no GPU");
  InProcessServer fixture(TestServerOptions(), controls);
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kDeviceAbsent; }));
}

TEST(Load, AFailureThatMayPassEndsTheServerWithCodeSeventy) {
  for (const Status& failure :
       {Status(StatusCode::kInternal, reason::DEVICE_LOST, "sticky error"),
        ResourceExhausted(reason::DEVICE_OUT_OF_MEMORY, "no room"),
        ResourceExhausted(reason::HOST_MEMORY, "no room"), Internal("unknown exception")}) {
    auto controls = std::make_shared<ServerControls>();
    controls->warm_up_status = failure;
    InProcessServer fixture(TestServerOptions(), controls);
    std::optional<ServerExit> exit;
    ASSERT_TRUE(WaitUntil([&] { return (exit = fixture.server->Poll()).has_value(); }));
    EXPECT_EQ(exit, ServerExit::kInternal) << failure.ToString();
  }
}

TEST(Watchdog, AUnitThatHangsEndsTheServer) {
  ServingInProcessServer fixture(TestServerOptions({.watchdog_s = 0.05}));
  fixture.controls->gate.Close();
  auto hung = std::async(std::launch::async, [&] { return Predict(&fixture); });
  EXPECT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kInternal; }));
  EXPECT_EQ(CheckHealth(fixture.channel, "live"), Health::kNotServing);
  fixture.controls->gate.Open();
  EXPECT_EQ(ReadDetails(hung.get()).info.reason(), "DEVICE_LOST");
}

// fm-28
TEST(Address, InUseIsAnErrorThatNamesIt) {
  InProcessServer first;
  ServerOptions options = TestServerOptions();
  options.address = "127.0.0.1:" + std::to_string(first.server->port());
  const Status second = InterlacerServer::Start(options, {}).status();
  EXPECT_EQ(second.reason(), reason::CONFIG_INVALID);
  EXPECT_NE(second.message().find(options.address), std::string::npos);
}

TEST(Address, BeyondLoopbackNeedsInsecure) {
  ServerOptions options = TestServerOptions();
  options.address = "0.0.0.0:0";
  EXPECT_EQ(InterlacerServer::Start(options, {}).status().reason(), reason::CONFIG_INVALID);
  for (const char* address : {"127.0.0.1:1", "127.1.2.3:1", "localhost:1", "[::1]:1", "unix:/x"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "127.0.0.1.example.com:1", "10.0.0.1:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

// fm-28
TEST(Address, UnixSocketsWork) {
  ServerOptions options = TestServerOptions();
  const TempFolder folder;
  options.address = "unix:" + folder.File("socket");
  ServingInProcessServer fixture(options);
  auto stub = v1::InterlacerService::NewStub(
      grpc::CreateChannel(options.address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetServerInfoResponse response;
  EXPECT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());
}

/// Without it nobody learns which methods a server has.
TEST(Reflection, IsOnForLoopbackAloneUnlessAskedFor) {
  const std::string list_services("\x3a\x00", 2);  // the field of that name, empty
  for (const auto& [address, mode, is_on] : {std::tuple("127.0.0.1:0", ReflectionMode::kAuto, true),
                                             std::tuple("127.0.0.1:0", ReflectionMode::kOff, false),
                                             std::tuple("0.0.0.0:0", ReflectionMode::kAuto, false),
                                             std::tuple("0.0.0.0:0", ReflectionMode::kOn, true)}) {
    ServerOptions options = TestServerOptions();
    options.address = address;
    options.insecure = true;
    options.reflection = mode;
    const ServingInProcessServer fixture(options);
    RawHttp2 client(fixture.server->port());
    const std::uint32_t call =
        client.Open("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
    client.Data(call, MessagePrefix(2) + list_services, /*is_end=*/true);
    EXPECT_TRUE(client.WaitForEnd(call));
    const int code = is_on ? grpc::StatusCode::OK : grpc::StatusCode::UNIMPLEMENTED;
    EXPECT_EQ(client.Header(call, "grpc-status"), std::to_string(code))
        << address << ", mode " << static_cast<int>(mode);
    EXPECT_EQ(client.stream(call).data_bytes > std::strlen(kService), is_on);
  }
}

TEST(Information, ServerInfoAndMetadataSayWhatTheModelTakes) {
  ServingInProcessServer fixture;
  const auto info = Info(&fixture);
  EXPECT_EQ(info.device(), "cpu");
  EXPECT_EQ(info.instance_id().size(), 32u);
  EXPECT_EQ(info.limits().max_step_count(), 128);
  EXPECT_EQ(info.limits().max_camera_skew().nanos(), 50'000'000);
  grpc::ClientContext context;
  v1::GetModelMetadataResponse metadata;
  ASSERT_TRUE(fixture.stub->GetModelMetadata(&context, {}, &metadata).ok());
  EXPECT_EQ(metadata.model_name(), "fake");
  EXPECT_EQ(metadata.cameras(1).name(), "right");
  EXPECT_EQ(metadata.action_columns(2).unit(), v1::ACTION_UNIT_METERS);
  EXPECT_EQ(metadata.action_kinds_size(), 2);
  EXPECT_EQ(metadata.step_duration().nanos(), 500'000'000);
  grpc::ClientContext other;
  v1::GetModelMetadataRequest unknown;
  unknown.set_model_name("nobody");
  EXPECT_EQ(ReadDetails(fixture.stub->GetModelMetadata(&other, unknown, &metadata)).info.reason(),
            "MODEL_NOT_FOUND");
}

}  // namespace
}  // namespace interlacer::testing
