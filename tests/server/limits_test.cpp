/// What the server refuses or ends so that it can go on: memory, sizes, slow readers, hostile
/// input.

#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "render/kernels/observed_disc.h"
#include "server/convert/output_options.h"
#include "server/convert/responses.h"
#include "tests/server/rollout_call.h"

namespace interlacer::testing {
namespace {

TEST(Memory, ViewsOfSceneCamerasCountAtTheSizeOfTheModel) {
  auto fixture = ServingServer(TestServerOptions({.max_response_bytes = 4096 + 3 * kModelViewPx}));
  const grpc::Status status = Call(fixture.get(), WideSceneCameraRequest()).Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Memory, SceneCamerasAboveTheLimitOfViewsAreRefusedBeforeWork) {
  auto fixture = ServingServer(TestServerOptions({.max_render_side_px = kViewWidthPx - 1}));
  const ErrorDetails details = ReadDetails(Call(fixture.get(), WideSceneCameraRequest()).Finish());
  EXPECT_EQ(details.info.reason(), "LIMIT_RENDER_SIDE");
  EXPECT_EQ(details.field(), "output.render_targets[0].scene_camera_name");
  EXPECT_EQ(fixture->controls->lift_count, 0);
}

TEST(Memory, RequestsInFlightAreBounded) {
  auto fixture = ServingServer(TestServerOptions({.max_inflight_request_bytes = 14'000}));
  const auto request = MakeRolloutRequest(1);
  ASSERT_GT(2 * request.ByteSizeLong() + 4 * 7 * kViewWidthPx * kViewHeightPx, 14'000u);
  ExpectRefused(Call(fixture.get(), request).Finish(), grpc::StatusCode::OUT_OF_RANGE,
                "HOST_MEMORY");
}

std::int64_t ReservedBytes(const v1::PredictRolloutRequest& request) {
  return static_cast<std::int64_t>(2 * request.ByteSizeLong()) +
         std::int64_t{4} * 7 * kViewWidthPx * kViewHeightPx;
}

// fm-19
TEST(Memory, LargeRequestsOfOthersLeaveRoomForUrgentOnes) {
  const auto request = MakeRolloutRequest(1);
  auto urgent_request = request;
  urgent_request.set_priority(v1::REQUEST_PRIORITY_CONTROL);
  auto fixture = ServingServer(
      TestServerOptions({.max_inflight_request_bytes = 2 * ReservedBytes(urgent_request)}));
  fixture->controls->gate.Close();
  Call other(fixture.get(), request);
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().active_count() == 1; }));
  const grpc::Status refused = Call(fixture.get(), request).Finish();
  EXPECT_EQ(ReadDetails(refused).info.reason(), "HOST_MEMORY");
  Call urgent(fixture.get(), urgent_request);
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() == 1; }));
  fixture->controls->gate.Open();
  EXPECT_TRUE(urgent.Finish().ok());
  EXPECT_TRUE(other.Finish().ok());
}

/// The surfel, what moves it, its disc and so on of each pixel of two newest frames.
TEST(Memory, PixelsThatAreCarriedAreCounted) {
  static_assert(sizeof(SurfelNeighbors) == 24 && sizeof(Disc) == 56,
                "count again what a pixel has");
  constexpr std::int64_t kPixelBytes = 198, kPixels = 2 * kViewWidthPx * kViewHeightPx;
  auto request = MakeRolloutRequest(1);
  request.set_priority(v1::REQUEST_PRIORITY_CONTROL);
  AddView(request.mutable_output(), "view", "left");
  const std::int64_t needed = ReservedBytes(request) + kPixelBytes * kPixels;
  auto fixture = ServingServer(TestServerOptions({.max_inflight_request_bytes = needed}));
  EXPECT_TRUE(Call(fixture.get(), request).Finish().ok());
  fixture = ServingServer(TestServerOptions({.max_inflight_request_bytes = needed - 1}));
  ExpectRefused(Call(fixture.get(), request).Finish(), grpc::StatusCode::OUT_OF_RANGE,
                "HOST_MEMORY");
}

FloatImage AsFloats(const RgbImage& image) {
  FloatImage color{image.width_px, image.height_px, 3, {}};
  for (const std::uint8_t value : image.pixels) {
    color.pixels.push_back(static_cast<float>(value) / 255);
  }
  return color;
}

TEST(Memory, AViewHasNoLongerSidesThanItsContainer) {
  auto request = MakeRolloutRequest(1);
  v1::RenderTarget* target = AddView(request.mutable_output(), "view", "left");
  *target->mutable_camera() = MakeView("left", 0).calibration();
  target->mutable_camera()->set_height_px(1);
  Limits limits;
  limits.max_render_side_px = kMaxJpegSidePx + 1000;
  const auto read = [&](v1::ImageCompression compression, int width_px) {
    target->set_compression(compression);
    target->mutable_camera()->set_width_px(width_px);
    return ToOutputOptions(request.output(), request.actions(), FakeMetadata(), limits).status();
  };
  const Status status = read(v1::IMAGE_COMPRESSION_JPEG, kMaxJpegSidePx + 1);
  EXPECT_EQ(status.reason(), "LIMIT_RENDER_SIDE") << status.ToString();
  EXPECT_EQ(status.field(), "output.render_targets[0].camera.width_px");
  EXPECT_EQ(status.metadata().at("limit"), std::to_string(kMaxJpegSidePx));
  for (const Status& taken : {read(v1::IMAGE_COMPRESSION_JPEG, kMaxJpegSidePx),
                              read(v1::IMAGE_COMPRESSION_PNG, kMaxJpegSidePx + 1)}) {
    EXPECT_TRUE(taken.ok()) << taken.ToString();
  }
}

/// What is worst for every coding: nothing repeats, and no coefficient is small.
// fm-13
TEST(Memory, NoViewIsLargerThanEstimatedWhateverItShows) {
  std::mt19937 random(7);
  for (const auto& [width_px, height_px] :
       {std::pair{1, 1}, {7, 3}, {3, 1024}, {64, 9}, {256, 256}}) {
    RgbImage noise{width_px, height_px, {}};
    noise.pixels.resize(std::size_t{3} * width_px * height_px);
    RgbImage extremes = noise;
    for (std::uint8_t& value : noise.pixels) value = static_cast<std::uint8_t>(random());
    for (std::uint8_t& value : extremes.pixels) value = random() % 2 == 0 ? 0 : 255;
    RenderTarget target;
    target.camera.emplace();
    target.camera->width_px = width_px;
    target.camera->height_px = height_px;
    target.jpeg_quality = 100;
    for (const RgbImage& image : {noise, extremes}) {
      for (const ViewCompression compression :
           {ViewCompression::kNone, ViewCompression::kPng, ViewCompression::kJpeg}) {
        target.compression = compression;
        OutputOptions output;
        output.render_targets.assign(8, target);
        wire::RenderedImage packed;
        PackView(target, AsFloats(image), {}, &packed);
        const auto estimated = EstimateResponseBytes(output, 1, FakeMetadata(), Limits());
        ASSERT_TRUE(estimated.ok());
        EXPECT_LE(8 * packed.ByteSizeLong(), static_cast<std::size_t>(*estimated))
            << width_px << "x" << height_px << ", " << static_cast<int>(compression);
      }
    }
  }
}

/// As many views as the limits name, at their largest.
TEST(Memory, TheLargestViewsOfEveryCompressionFitIntoAMessage) {
  const Limits limits;
  RenderTarget target;
  target.camera.emplace();
  target.camera->width_px = target.camera->height_px = limits.max_render_side_px;
  for (const ViewCompression compression :
       {ViewCompression::kNone, ViewCompression::kPng, ViewCompression::kJpeg}) {
    target.compression = compression;
    OutputOptions output;
    output.render_targets.assign(static_cast<std::size_t>(limits.max_render_target_count), target);
    EXPECT_TRUE(EstimateResponseBytes(output, 1, FakeMetadata(), limits).ok());
  }
}

/// Room for one request: the next one finds it as soon as the status of the last one is there.
TEST(Memory, AFinishedCallHoldsNothing) {
  const auto request = MakeRolloutRequest(1);
  auto fixture = ServingServer(
      TestServerOptions({.max_inflight_request_bytes = (4 * ReservedBytes(request) + 2) / 3}));
  for (int call = 0; call < 200; ++call) {
    const grpc::Status status = Call(fixture.get(), request).Finish();
    ASSERT_TRUE(status.ok()) << "call " << call << ": " << status.error_message();
  }
}

// fm-13
TEST(Memory, MessagesAboveTheLimitAreRefused) {
  auto fixture = ServingServer(
      TestServerOptions({.max_request_bytes = 100'000, .max_response_bytes = 10'000}));
  auto large = MakeRolloutRequest(1);
  large.mutable_source()
      ->mutable_scene_input()
      ->mutable_observations(0)
      ->mutable_views(0)
      ->mutable_color()
      ->mutable_data()
      ->resize(200'000);
  EXPECT_EQ(Call(fixture.get(), large).Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // 1024 particles of the fake's metadata would take 12 kB.
  ExpectRefused(Call(fixture.get(), MakeRolloutRequest(1)).Finish(), grpc::StatusCode::OUT_OF_RANGE,
                "LIMIT_RESPONSE_BYTES");
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

// fm-17
TEST(SlowReader, AsManyAsMayBeActiveLeaveTheDeviceToOthers) {
  auto fixture =
      ServingServer(TestServerOptions({.max_active_calls = 4, .max_buffered_messages = 1}));
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

// fm-17
TEST(SlowReader, IsCutOffAndOthersGoOn) {
  auto fixture = ServingServer(TestServerOptions({.slow_reader_timeout_s = 0.3}));
  Call stalled(fixture.get(), LargeRequest(1024));
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->step_count >= 2; }));
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(3)).Finish().ok());
  ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
  EXPECT_EQ(stalled.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(HasMetric(*fixture, "reason=\"SLOW_READER\""));
}

/// All messages fit into the buffers, so the call ends well before its client reads any.
TEST(SlowReader, IsCountedAlsoWhenTheCallHadEnded) {
  auto fixture = ServingServer(TestServerOptions(
      {.slow_reader_timeout_s = 0.3, .max_buffered_messages = 20, .max_buffered_bytes = 64 << 20}));
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
  auto controls = std::make_shared<ServerControls>();
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

// fm-1
TEST(Input, RandomBytesAreAnErrorAndTheServerLives) {
  auto fixture = ServingServer();
  std::mt19937 random(20);
  const google::protobuf::ServiceDescriptor* service =
      v1::ValidateSceneRequest::descriptor()->file()->FindServiceByName("InterlacerService");
  ASSERT_NE(service, nullptr);
  for (int m = 0; m < service->method_count(); ++m) {
    const google::protobuf::MethodDescriptor* method = service->method(m);
    const std::unique_ptr<google::protobuf::Message> request(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method->input_type())
            ->New());
    int broken_count = 0;
    for (int i = 0; i < 50; ++i) {
      std::string bytes(1 + random() % 200, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      // Among them beginnings that promise a field of the request and break their word.
      if (i % 2 == 0) bytes[0] = static_cast<char>(8 * (1 + i % 8) + 2);
      // Some are messages by chance; what they say is an error then, or nothing.
      const bool is_message = request->ParseFromString(bytes);
      const grpc::Status status = SendBytes(*fixture, method->name(), bytes);
      const std::string what = method->name() + ", bytes of case " + std::to_string(i);
      ASSERT_EQ(status.error_code() == grpc::StatusCode::INTERNAL, !is_message)
          << what << ": " << status.error_message();
      if (is_message) continue;
      ASSERT_EQ(ReadDetails(status).info.reason(), "INTERNAL_ERROR") << what;
      ++broken_count;
    }
    EXPECT_GT(broken_count, 25) << method->name();
    EXPECT_TRUE(HasMetric(*fixture, "interlacer_requests_total{code=\"INTERNAL\",method=\"" +
                                        method->name() + "\",reason=\"INTERNAL_ERROR\"} " +
                                        std::to_string(broken_count)))
        << method->name();
  }
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(1)).Finish().ok());
}

// fm-41
TEST(Input, HugeMetadataIsRefused) {
  auto fixture = ServingServer();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  context.AddMetadata("x-request-id", std::string(1 << 20, 'a'));
  v1::GetServerInfoResponse response;
  const grpc::StatusCode code = fixture->stub->GetServerInfo(&context, {}, &response).error_code();
  EXPECT_NE(code, grpc::StatusCode::OK);
  EXPECT_NE(code, grpc::StatusCode::DEADLINE_EXCEEDED) << "it hears of it at once";
  fixture->Connect();  // the library closes the connection of such a caller
  EXPECT_TRUE(Call(fixture.get(), MakeRolloutRequest(1)).Finish().ok());
}

}  // namespace
}  // namespace interlacer::testing
