/// Overhead of the server in a call: the real server with a null model, against bare gRPC servers
/// with the same request and response sizes, by a unary call or by a stream like ours, and against
/// a bare socket.

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "bench/child_peer.h"
#include "bench/clouds.h"
#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/echo_server.h"
#include "bench/quiet_server.h"
#include "tests/support/fake_predictor.h"

namespace interlacer::bench {
namespace {

namespace wire = ::interlacer::v1;

constexpr int kClients = 8;
constexpr int kCallsAClient = 16;
constexpr int kParticles = 4;
/// Its length makes a request that names the model 64 bytes long.
const std::string kModelName(62, 'm');

/// Goals as ratios of times: null model at most 1.25 (64 B) and 1.15 (frames) times the echo, 3.5
/// times the socket, twice the echo's 99th percentile, 0.9 of its throughput with eight clients.
constexpr double kSmallGoal = 1 / 1.25, kFrameGoal = 1 / 1.15, kSocketGoal = 1 / 3.5;
constexpr double kP99Goal = 0.5, kThroughputGoal = 0.9;

std::unique_ptr<wire::InterlacerService::Stub> Connect(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return wire::InterlacerService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
}

void RequireOk(const grpc::Status& status) {
  if (!status.ok()) throw PeerError("call failed: " + status.error_message());
}

/// A server for frames of one size from two cameras, without a robot and with a null model: every
/// scene lifts to the same few particles, which do not move.
struct NullServer {
  NullServer(int width_px, int height_px, std::uint64_t seed) {
    particles.count = kParticles;
    particles.positions_m = RandomValues(3 * kParticles, seed, 0);
    particles.colors_rgb8.assign(3 * kParticles, 128);
    ModelMetadata metadata = testing::FakeMetadata(width_px, height_px);
    metadata.model_name = kModelName;
    metadata.particle_count = kParticles;
    metadata.accepts_joint_positions = metadata.accepts_kinematic_points = false;
    metadata.action_columns.clear();
    metadata.kinematic_point_names.clear();
    const auto controls = std::make_shared<testing::FakeControls>();
    controls->particles = particles;
    server = StartQuietServer({kModelName,
                               [=]() -> StatusOr<std::unique_ptr<Predictor>> {
                                 return std::unique_ptr<Predictor>(
                                     std::make_unique<testing::FakePredictor>(metadata, controls));
                               },
                               [](const std::stop_token&, ServedModel*) { return Status::Ok(); }});
    stub = Connect(server->port());
  }

  Particles particles;
  std::unique_ptr<InterlacerServer> server;
  std::unique_ptr<wire::InterlacerService::Stub> stub;
};

std::string RandomBytes(std::size_t count, std::uint64_t seed, std::uint32_t draw) {
  const std::vector<float> values = RandomValues(count, seed, draw, 0, 256);
  return {values.begin(), values.end()};
}

/// A tilted plane 0.8 m away with some noise, in tenths of a millimetre.
std::string DepthBytes(int width_px, int height_px, std::uint64_t seed) {
  const std::vector<float> noise =
      RandomValues(std::size_t(width_px) * height_px, seed, 2, 8000, 8030);
  std::vector<std::uint16_t> units(noise.begin(), noise.end());
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i] = static_cast<std::uint16_t>(units[i] + 5 * (i / width_px));
  }
  return {reinterpret_cast<const char*>(units.data()), units.size() * sizeof(std::uint16_t)};
}

void FillView(const std::string& camera, std::int64_t half_seconds, int width_px, int height_px,
              std::uint64_t seed, wire::RgbdView* view) {
  const std::size_t pixels = std::size_t(width_px) * height_px;
  view->set_camera_name(camera);
  view->mutable_capture_time()->set_seconds(100 + half_seconds / 2);
  view->mutable_capture_time()->set_nanos(static_cast<int>(half_seconds % 2 * 500'000'000));
  for (wire::Image* image : {view->mutable_color(), view->mutable_depth()}) {
    image->set_width_px(width_px);
    image->set_height_px(height_px);
    image->set_compression(wire::IMAGE_COMPRESSION_NONE);
  }
  view->mutable_color()->set_encoding(wire::PIXEL_ENCODING_RGB8);
  view->mutable_color()->set_data(RandomBytes(3 * pixels, seed, 1));
  view->mutable_depth()->set_encoding(wire::PIXEL_ENCODING_DEPTH_U16);
  view->mutable_depth()->set_depth_unit_m(1e-4);
  view->mutable_depth()->set_data(DepthBytes(width_px, height_px, seed));
  wire::CameraCalibration* calibration = view->mutable_calibration();
  calibration->set_width_px(width_px);
  calibration->set_height_px(height_px);
  calibration->set_fx_px(width_px);
  calibration->set_fy_px(width_px);
  calibration->set_cx_px((width_px - 1) / 2.0);
  calibration->set_cy_px((height_px - 1) / 2.0);
  calibration->set_distortion_model(wire::DISTORTION_MODEL_NONE);
  calibration->mutable_world_from_camera()->mutable_translation_m();
  calibration->mutable_world_from_camera()->mutable_rotation()->set_w(1);
}

/// A request with two cameras at two times and one step.
wire::PredictRolloutRequest MakePrediction(int width_px, int height_px, std::uint64_t seed) {
  wire::PredictRolloutRequest request;
  request.set_model_name(kModelName);
  wire::SceneInput* input = request.mutable_source()->mutable_scene_input();
  for (const int time : {0, 1}) {
    wire::Observation* observation = input->add_observations();
    FillView("left", time, width_px, height_px, seed, observation->add_views());
    FillView("right", time, width_px, height_px, seed, observation->add_views());
  }
  request.mutable_output()->add_steps(1);
  request.mutable_output()->set_include_positions(true);
  return request;
}

wire::PredictRolloutResponse Predict(wire::InterlacerService::Stub* stub,
                                     const wire::PredictRolloutRequest& request) {
  grpc::ClientContext context;
  const auto reader = stub->PredictRollout(&context, request);
  wire::PredictRolloutResponse response, last;
  while (reader->Read(&response)) last = response;
  RequireOk(reader->Finish());
  return last;
}

wire::GetModelMetadataResponse AskMetadata(wire::InterlacerService::Stub* stub) {
  grpc::ClientContext context;
  wire::GetModelMetadataRequest request;
  request.set_model_name(kModelName);
  wire::GetModelMetadataResponse response;
  RequireOk(stub->GetModelMetadata(&context, request, &response));
  return response;
}

void Validate(wire::InterlacerService::Stub* stub, const wire::ValidateSceneRequest& request) {
  grpc::ClientContext context;
  wire::ValidateSceneResponse response;
  RequireOk(stub->ValidateScene(&context, request, &response));
}

/// Gate on the number of response bytes that differ from the expected ones.
GateResult ByteGate(double wrong_bytes) {
  GateResult gate;
  gate.error = wrong_bytes;
  gate.error_kind = "wrong_bytes";
  gate.reference = "what the null model holds, what the echo was sent";
  return gate;
}

/// Several clients at once, each with its own connection; measures the time until all are done.
Work ByManyClients(int port, std::function<void(wire::InterlacerService::Stub*)> call) {
  auto stubs = std::make_shared<std::vector<std::unique_ptr<wire::InterlacerService::Stub>>>();
  for (int i = 0; i < kClients; ++i) stubs->push_back(Connect(port));
  return Timed([stubs, call = std::move(call)] {
    std::vector<std::jthread> clients;
    for (const auto& stub : *stubs) {
      clients.emplace_back([&stub, &call] {
        for (int i = 0; i < kCallsAClient; ++i) call(stub.get());
      });
    }
  });
}

Case MakeCase(const std::string& name, const std::string& ours, const std::string& peer) {
  Case item;
  item.stage = "rpc";
  item.name = "rpc/" + name + "/" + peer;
  item.ours = ours;
  item.peer = peer;
  item.dtype = "bytes";
  item.peer_version = peer == "tcp" ? "sockets" : "grpc " INTERLACER_BENCH_GRPC_VERSION;
  return item;
}

/// Requests of 64 bytes, which do not reach the model.
void AddMetadataCases(const std::shared_ptr<NullServer>& ours,
                      const std::shared_ptr<EchoServer>& echo, std::vector<Case>* cases) {
  const std::shared_ptr<wire::InterlacerService::Stub> echo_stub = Connect(echo->port());
  const auto gate = Once([ours, echo_stub] {
    const bool equal = AskMetadata(ours->stub.get()).model_name() == kModelName &&
                       AskMetadata(echo_stub.get()).model_name() == kModelName;
    return ByteGate(equal ? 0 : 1);
  });
  Case one = MakeCase("metadata_64B", "interlacer_server", "grpc_echo");
  one.params = {{"request_bytes", 64}, {"clients", 1}};
  one.goal = kSmallGoal;
  one.goal_p99 = kP99Goal;
  one.gate = gate;
  one.run_ours = Timed([ours] { AskMetadata(ours->stub.get()); });
  one.run_peer = Timed([echo, echo_stub] { AskMetadata(echo_stub.get()); });
  cases->push_back(std::move(one));

  Case many = MakeCase("metadata_64B_8_clients", "interlacer_server", "grpc_echo");
  many.params = {{"request_bytes", 64}, {"clients", kClients}, {"calls", kClients * kCallsAClient}};
  many.goal = kThroughputGoal;
  many.gate = gate;
  many.run_ours = ByManyClients(ours->server->port(), [ours](auto* stub) { AskMetadata(stub); });
  many.run_peer = ByManyClients(echo->port(), [echo](auto* stub) { AskMetadata(stub); });
  cases->push_back(std::move(many));
}

/// A whole prediction of the null model: parse, check, decode, queue, step, respond.
void AddPredictionCases(const std::string& name, int width_px, int height_px,
                        const Options& options, double goal, bool with_socket,
                        std::vector<Case>* cases) {
  const auto ours = std::make_shared<NullServer>(width_px, height_px, options.seed);
  const auto request = std::make_shared<const wire::PredictRolloutRequest>(
      MakePrediction(width_px, height_px, options.seed));
  const wire::PredictRolloutResponse reply = Predict(ours->stub.get(), *request);
  const std::size_t reply_bytes = reply.ByteSizeLong();
  const auto echo = std::make_shared<EchoServer>(reply);
  const std::shared_ptr<wire::InterlacerService::Stub> echo_stub = Connect(echo->port());
  auto same_bytes = std::make_shared<wire::ValidateSceneRequest>();
  same_bytes->set_model_name(request->model_name());
  *same_bytes->mutable_scene_input() = request->source().scene_input();

  Case base = MakeCase(name, "interlacer_server", "grpc_echo");
  base.params = {
      {"request_bytes", request->ByteSizeLong()}, {"reply_bytes", reply_bytes}, {"clients", 1}};
  base.goal = goal;
  base.goal_p99 = kP99Goal;
  base.gate = Once([ours, request] {
    const std::string positions =
        Predict(ours->stub.get(), *request).step().particles().positions();
    const auto& expected = ours->particles.positions_m;
    const bool equal = positions.size() == expected.size() * sizeof(float) &&
                       std::memcmp(positions.data(), expected.data(), positions.size()) == 0;
    return ByteGate(equal ? 0 : 1);
  });
  base.run_ours = Timed([ours, request] { Predict(ours->stub.get(), *request); });
  base.run_peer = Timed([echo, echo_stub, same_bytes] { Validate(echo_stub.get(), *same_bytes); });

  Case stream = base;
  stream.name = "rpc/" + name + "/grpc_stream_echo";
  stream.peer = "grpc_stream_echo";
  stream.run_peer = Timed([echo, echo_stub, request] { Predict(echo_stub.get(), *request); });

  if (with_socket) {
    Case socket = base;
    socket.name = "rpc/" + name + "/tcp";
    socket.peer = "tcp";
    socket.peer_version = "sockets";
    socket.goal = kSocketGoal;
    socket.goal_p99.reset();
    const auto ping_pong = std::make_shared<TcpPingPong>(request->ByteSizeLong(), reply_bytes);
    socket.run_peer = Timed([ping_pong] { ping_pong->Exchange(); });
    cases->push_back(std::move(socket));
  }
  Case many = base;
  many.name = "rpc/" + name + "_8_clients/grpc_echo";
  many.params["clients"] = kClients;
  many.params["calls"] = kClients * kCallsAClient;
  many.goal = kThroughputGoal;
  many.goal_p99.reset();
  many.run_ours =
      ByManyClients(ours->server->port(), [ours, request](auto* stub) { Predict(stub, *request); });
  many.run_peer =
      ByManyClients(echo->port(), [echo, same_bytes](auto* stub) { Validate(stub, *same_bytes); });
  Case many_streams = many;
  many_streams.name = "rpc/" + name + "_8_clients/grpc_stream_echo";
  many_streams.peer = stream.peer;
  many_streams.run_peer =
      ByManyClients(echo->port(), [echo, request](auto* stub) { Predict(stub, *request); });
  for (Case* item : {&base, &stream, &many, &many_streams}) cases->push_back(std::move(*item));
}

}  // namespace

std::vector<Case> MakeRpcCases(const Options& options) {
  std::vector<Case> cases;
  AddMetadataCases(std::make_shared<NullServer>(32, 24, options.seed),
                   std::make_shared<EchoServer>(), &cases);
  AddPredictionCases("predict_32x24", 32, 24, options, kSmallGoal, false, &cases);
  AddPredictionCases("predict_" + std::to_string(options.image_width_px) + "x" +
                         std::to_string(options.image_height_px),
                     options.image_width_px, options.image_height_px, options, kFrameGoal, true,
                     &cases);
  return cases;
}

}  // namespace interlacer::bench
