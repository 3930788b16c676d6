/// What the server does under cancels, deadlines, load, failures and shutdown, with a mock model.

#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/in_process_server.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

using Reader = std::unique_ptr<grpc::ClientReader<v1::PredictRolloutResponse>>;

/// A call in flight.
struct Call {
  grpc::ClientContext context;
  Reader reader;

  Call(InProcessServer* fixture, const v1::PredictRolloutRequest& request, double deadline_s = 20) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(static_cast<int>(1e3 * deadline_s)));
    reader = fixture->stub->PredictRollout(&context, request);
  }
  bool Read() {
    v1::PredictRolloutResponse message;
    return reader->Read(&message);
  }
  grpc::Status Finish() {
    while (Read()) {
    }
    return reader->Finish();
  }
};

std::unique_ptr<InProcessServer> ServingServer(ServerOptions options = TestServerOptions()) {
  auto fixture = std::make_unique<InProcessServer>(options);
  EXPECT_TRUE(fixture->WaitForServing());
  return fixture;
}

/// Waits until the metrics contain `text`.
bool HasMetric(const InProcessServer& fixture, const std::string& text) {
  return WaitUntil(
      [&] { return fixture.server->metrics().Text().find(text) != std::string::npos; });
}

bool IsIdle(const InProcessServer& fixture) {
  return fixture.server->worker().active_count() == 0 &&
         fixture.server->worker().queue_length() == 0 && fixture.controls->live_rollouts == 0;
}

TEST(Cancel, StopsWithinOneUnitAndFreesTheDevice) {
  auto fixture = ServingServer();
  fixture->controls->gate.Close();
  Call call(fixture.get(), MakeRolloutRequest(50));
  fixture->controls->gate.Allow(4);
  ASSERT_TRUE(call.Read());
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  const int steps_before = fixture->controls->step_count;
  call.context.TryCancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // The server hears of the cancel on its own thread; the unit at the gate is let through after.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  fixture->controls->gate.Open();
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_LE(fixture->controls->step_count, steps_before + 1);
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_cancelled_total{where=\"running\"} 1"));
}

TEST(Cancel, AtEveryStepAndManyTimesInARow) {
  auto fixture = ServingServer();
  for (int i = 0; i < 200; ++i) {
    Call call(fixture.get(), MakeRolloutRequest(20));
    for (int reads = 0; reads < i % 5; ++reads) call.Read();
    call.context.TryCancel();
    call.Finish();
  }
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(2)).Finish().ok());
}

TEST(Deadline, TooShortForTheEstimateIsRefusedBeforeWork) {
  auto controls = std::make_shared<MockControls>();
  controls->step_cost_s = 1;
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(fixture.WaitForServing());
  const grpc::Status status = Call(&fixture, MakeRolloutRequest(10), 5).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReadDetails(status).info.reason(), "DEADLINE_TOO_SHORT");
  EXPECT_EQ(controls->lift_count, 0);
}

/// A request for one view by the name of a scene camera, from frames four times as wide as the
/// model's.
v1::PredictRolloutRequest WideSceneCameraRequest() {
  auto request = MakeRolloutRequest(1);
  request.clear_output();
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) Widen(&view, 4);
  }
  v1::RenderTarget* target = request.mutable_output()->add_render_targets();
  target->set_target_name("view");
  target->set_scene_camera_name("left");
  return request;
}

constexpr int kModelViewPx = kViewWidthPx * kViewHeightPx;  // the mock's images

TEST(Deadline, EstimatesViewsOfSceneCamerasAtTheSizeOfTheModel) {
  auto controls = std::make_shared<MockControls>();
  controls->render_cost_s = 4.0 * (320 * 240) / kModelViewPx;  // 4 s a view; 16 s at the frames'
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(fixture.WaitForServing());
  const grpc::Status status = Call(&fixture, WideSceneCameraRequest(), 10).Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(HasMetric(
      fixture, "interlacer_rendered_pixels_total{model=\"mock\"} " + std::to_string(kModelViewPx)));
}

TEST(Memory, ViewsOfSceneCamerasCountAtTheSizeOfTheModel) {
  ServerOptions options = TestServerOptions();
  options.limits.max_response_bytes = 4096 + 3 * kModelViewPx;
  auto fixture = ServingServer(options);
  const grpc::Status status = Call(fixture.get(), WideSceneCameraRequest()).Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Memory, SceneCamerasAboveTheLimitOfViewsAreRefusedBeforeWork) {
  ServerOptions options = TestServerOptions();
  options.limits.max_render_side_px = kViewWidthPx - 1;
  auto fixture = ServingServer(options);
  const ErrorDetails details = ReadDetails(Call(fixture.get(), WideSceneCameraRequest()).Finish());
  EXPECT_EQ(details.info.reason(), "LIMIT_RENDER_SIDE");
  EXPECT_EQ(details.field(), "output.render_targets[0].scene_camera_name");
  EXPECT_EQ(fixture->controls->lift_count, 0);
}

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

TEST(Deadline, OfOneMillisecondHarmsNobody) {
  auto fixture = ServingServer();
  fixture->controls->unit_s = 0.001;  // a hundred steps cannot be done in time
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Call(fixture.get(), MakeRolloutRequest(100), 0.001).Finish().ok());
  }
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(2)).Finish().ok());
}

TEST(Deadline, TheServerHasALimitOfItsOwn) {
  ServerOptions options = TestServerOptions();
  options.limits.max_call_duration_s = 0.2;
  auto fixture = ServingServer(options);
  fixture->controls->unit_s = 0.02;
  const grpc::Status status = Call(fixture.get(), MakeRolloutRequest(100)).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReadDetails(status).info.reason(), "CALL_TOO_LONG");
}

TEST(Queue, FullIsRefusedAtOnceWithARetryDelay) {
  ServerOptions options = TestServerOptions();
  options.limits.max_queue_length = 2;
  options.limits.max_active_calls = 1;
  auto fixture = ServingServer(options);
  fixture->controls->gate.Close();
  std::vector<std::unique_ptr<Call>> accepted;
  for (int i = 0; i < 3; ++i) {
    accepted.push_back(std::make_unique<Call>(fixture.get(), MakeRolloutRequest(2)));
    ASSERT_TRUE(WaitUntil([&] {
      return fixture->server->worker().active_count() + fixture->server->worker().queue_length() ==
             i + 1;
    }));
  }
  const auto start = std::chrono::steady_clock::now();
  const grpc::Status status = Call(fixture.get(), MakeRolloutRequest(2)).Finish();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const ErrorDetails details = ReadDetails(status);
  EXPECT_EQ(details.info.reason(), "QUEUE_FULL");
  EXPECT_TRUE(details.retry.has_retry_delay());
  fixture->controls->gate.Open();
  for (auto& call : accepted) EXPECT_TRUE(call->Finish().ok());
}

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

TEST(Memory, RequestsInFlightAreBounded) {
  ServerOptions options = TestServerOptions();
  options.limits.max_inflight_request_bytes = 14'000;
  auto fixture = ServingServer(options);
  const auto request = MakeRolloutRequest(1);
  ASSERT_GT(2 * request.ByteSizeLong() + 4 * 7 * kViewWidthPx * kViewHeightPx, 14'000u);
  const grpc::Status status = Call(fixture.get(), request).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReadDetails(status).info.reason(), "HOST_MEMORY");
}

/// Room for one request: the next one finds it as soon as the status of the last one is there.
TEST(Memory, AFinishedCallHoldsNothing) {
  const auto request = MakeRolloutRequest(1);
  ServerOptions options = TestServerOptions();
  options.limits.max_inflight_request_bytes =
      static_cast<std::int64_t>(2 * request.ByteSizeLong()) +
      std::int64_t{4} * 7 * kViewWidthPx * kViewHeightPx;
  auto fixture = ServingServer(options);
  for (int call = 0; call < 200; ++call) {
    const grpc::Status status = Call(fixture.get(), request).Finish();
    ASSERT_TRUE(status.ok()) << "call " << call << ": " << status.error_message();
  }
}

TEST(Memory, MessagesAboveTheLimitAreRefused) {
  ServerOptions options = TestServerOptions();
  options.limits.max_request_bytes = 100'000;
  options.limits.max_response_bytes = 10'000;
  auto fixture = ServingServer(options);
  auto large = MakeRolloutRequest(1);
  large.mutable_source()
      ->mutable_scene_input()
      ->mutable_observations(0)
      ->mutable_views(0)
      ->mutable_color()
      ->mutable_data()
      ->resize(200'000);
  EXPECT_EQ(Call(fixture.get(), large).Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // 1024 particles of the mock's metadata would take 12 kB.
  const grpc::Status status = Call(fixture.get(), MakeRolloutRequest(1)).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReadDetails(status).info.reason(), "LIMIT_RESPONSE_BYTES");
}

/// Eight messages with a large view, above what the buffers of a call and of its connection hold.
v1::PredictRolloutRequest LargeRequest(int side_px) {
  auto request = MakeRolloutRequest(8);
  auto* target = request.mutable_output()->add_render_targets();
  target->set_target_name("large");
  auto* camera = target->mutable_camera();
  *camera = MakeView("left", 0).calibration();
  camera->set_width_px(side_px);
  camera->set_height_px(side_px);
  return request;
}

TEST(SlowReader, AsManyAsMayBeActiveLeaveTheDeviceToOthers) {
  ServerOptions options = TestServerOptions();
  options.limits.max_active_calls = 4;
  options.limits.max_buffered_messages = 1;
  auto fixture = ServingServer(options);
  std::vector<std::unique_ptr<Call>> stalled;
  for (int i = 0; i < 4; ++i) {
    stalled.push_back(std::make_unique<Call>(fixture.get(), LargeRequest(512)));
  }
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().active_count() == 4; }));
  auto urgent = MakeRolloutRequest(3);
  urgent.set_priority(v1::REQUEST_PRIORITY_CONTROL);
  EXPECT_TRUE(Call(fixture.get(), urgent, 5).Finish().ok());
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(3), 5).Finish().ok());
  // A client may hear of the end of a call before the worker has left it.
  EXPECT_TRUE(WaitUntil([&] { return fixture->server->worker().active_count() == 4; }));
  for (auto& call : stalled) call->context.TryCancel();
}

TEST(SlowReader, IsCutOffAndOthersGoOn) {
  ServerOptions options = TestServerOptions();
  options.limits.slow_reader_timeout_s = 0.3;
  auto fixture = ServingServer(options);
  Call stalled(fixture.get(), LargeRequest(1024));
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->step_count >= 2; }));
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(3)).Finish().ok());
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_EQ(stalled.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(HasMetric(*fixture, "reason=\"SLOW_READER\""));
}

/// All messages fit into the buffers, so the call ends well before its client reads any.
TEST(SlowReader, IsCountedAlsoWhenTheCallHadEnded) {
  ServerOptions options = TestServerOptions();
  options.limits.slow_reader_timeout_s = 0.3;
  options.limits.max_buffered_messages = 20;
  options.limits.max_buffered_bytes = 64 << 20;
  auto fixture = ServingServer(options);
  Call stalled(fixture.get(), LargeRequest(512));
  ASSERT_TRUE(HasMetric(*fixture, "interlacer_requests_total{code=\"OK\""));
  EXPECT_TRUE(WaitUntil([&] {
    fixture->server->Poll();
    return fixture->server->metrics().Text().find(
               "interlacer_cancelled_total{where=\"slow_reader\"} 1") != std::string::npos;
  }));
  EXPECT_EQ(stalled.Finish().error_code(), grpc::StatusCode::CANCELLED);
  fixture->server->Poll();
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_cancelled_total{where=\"slow_reader\"} 1"));
}

struct SentOutput {
  const char* name;
  bool positions, images;
};

class PredictionWith : public ::testing::TestWithParam<SentOutput> {};

TEST_P(PredictionWith, StepsBeforeANanStayValid) {
  auto fixture = ServingServer();
  fixture->controls->nan_from_step = 3;
  auto request = MakeRolloutRequest(5);
  v1::OutputOptions* output = request.mutable_output();
  output->set_include_positions(GetParam().positions);
  output->set_include_colors(false);
  if (GetParam().images) {
    v1::RenderTarget* target = output->add_render_targets();
    target->set_target_name("view");
    target->set_scene_camera_name("left");
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

TEST(Prediction, ALostDeviceEndsTheServer) {
  auto controls = std::make_shared<MockControls>();
  controls->step_status = Status(StatusCode::kInternal, reason::DEVICE_LOST, "sticky error");
  InProcessServer fixture(TestServerOptions(), controls);
  ASSERT_TRUE(fixture.WaitForServing());
  const grpc::Status status = Call(&fixture, MakeRolloutRequest(2)).Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(ReadDetails(status).info.reason(), "DEVICE_LOST");
  ASSERT_TRUE(WaitUntil([&] { return fixture.server->Poll() == ServerExit::kInternal; }));
  EXPECT_EQ(ReadDetails(Call(&fixture, MakeRolloutRequest(1)).Finish()).info.reason(),
            "DEVICE_LOST");
}

/// A unary call with a request of any bytes.
grpc::Status SendBytes(const InProcessServer& fixture, const std::string& method_name,
                       const std::string& bytes) {
  const std::string path = "/interlacer.v1.InterlacerService/" + method_name;
  const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::Slice slice(bytes);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  return grpc::internal::BlockingUnaryCall(fixture.channel.get(), method, &context, request,
                                           &response);
}

TEST(Input, IsNotParsedBeforeTheServerAccepts) {
  auto controls = std::make_shared<MockControls>();
  controls->warm_up_gate.Close();
  InProcessServer fixture(TestServerOptions(), controls);
  EXPECT_EQ(ReadDetails(SendBytes(fixture, "ValidateScene", "\xff")).info.reason(),
            "MODEL_LOADING");
}

TEST(Input, AboveTheLimitBesidePixelsIsRefused) {
  auto fixture = ServingServer();
  const std::string bytes(2 << 20, '\x08');  // pairs of an unknown field and its value
  for (const char* method : {"GetServerInfo", "GetModelMetadata", "ValidateScene"}) {
    const grpc::Status status = SendBytes(*fixture, method, bytes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_EQ(ReadDetails(status).info.reason(), "HOST_MEMORY") << method;
  }
}

TEST(Input, RandomBytesAreAnErrorAndTheServerLives) {
  auto fixture = ServingServer();
  std::mt19937 random(20);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(1 + random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = '\xff';  // no valid tag
    const grpc::Status status = SendBytes(*fixture, "ValidateScene", bytes);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INTERNAL) << "bytes of case " << i;
    ASSERT_EQ(ReadDetails(status).info.reason(), "INTERNAL_ERROR");
  }
  EXPECT_TRUE(HasMetric(*fixture,
                        "interlacer_requests_total{code=\"INTERNAL\",method=\"ValidateScene\","
                        "reason=\"INTERNAL_ERROR\"} 50"));
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(1)).Finish().ok());
}

TEST(Input, HugeMetadataIsRefused) {
  auto fixture = ServingServer();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  context.AddMetadata("x-request-id", std::string(1 << 20, 'a'));
  v1::GetServerInfoResponse response;
  EXPECT_FALSE(fixture->stub->GetServerInfo(&context, {}, &response).ok());
  fixture->Connect();  // the library closes the connection of such a caller
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(1)).Finish().ok());
}

TEST(Methods, ThatAreNotBuiltSaySo) {
  auto fixture = ServingServer();
  grpc::ClientContext create, remove, statistics, candidates;
  v1::CreateSceneResponse created;
  v1::DeleteSceneResponse removed;
  v1::GetStatisticsResponse counted;
  std::vector<grpc::Status> statuses = {fixture->stub->CreateScene(&create, {}, &created),
                                        fixture->stub->DeleteScene(&remove, {}, &removed),
                                        fixture->stub->GetStatistics(&statistics, {}, &counted)};
  v1::PredictCandidatesResponse message;
  auto reader = fixture->stub->PredictCandidates(&candidates, {});
  EXPECT_FALSE(reader->Read(&message));
  statuses.push_back(reader->Finish());
  for (const grpc::Status& status : statuses) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(ReadDetails(status).info.reason(), "FEATURE_NOT_BUILT");
  }
}

}  // namespace
}  // namespace interlacer::testing
