#include "server/transport/interlacer_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/log.h"
#include "common/process_memory.h"
#include "common/version.h"
#include "server/build_id.h"
#include "server/calls/incoming_call.h"
#include "server/calls/memory_fit.h"
#include "server/calls/random_id.h"
#include "server/convert/wire.h"
#include "server/handlers/get_model_metadata.h"
#include "server/handlers/get_server_info.h"
#include "server/transport/request_headers.h"
#include "server/transport/self_probe.h"

namespace interlacer {
namespace {

/// Shortest interval of a client's pings, also without calls in flight: half of the ten seconds
/// that clients are told, so that jitter never counts as too many.
constexpr int kMinPingIntervalMs = 5'000;
/// Threads of the library's synchronous services, of which reflection is the only one. It holds one
/// for every open stream.
constexpr int kMaxLibraryThreads = 16;
/// Time limit for the responses of calls that a lost device ended.
constexpr std::chrono::seconds kDeviceLostGrace(1);
/// Time limit for responses in flight when the server stops; open health watches use all of it.
constexpr std::chrono::milliseconds kResponseFlushTime(200);
/// Time limit for the status of calls that were cancelled at the end of a drain.
constexpr double kCancelledStatusTimeS = 1;
/// Time after the end of a drain after which the server stops whatever its clients do.
constexpr std::chrono::seconds kDrainGrace(3);
constexpr char kReflectionPlugin[] = "proto_server_reflection";

bool HasReflection(const ServerOptions& options) {
  return options.reflection == ReflectionMode::kOn ||
         (options.reflection == ReflectionMode::kAuto && IsLoopback(options.address));
}

/// The reflection library adds itself to every server of the process; this option removes it again.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == kReflectionPlugin; });
  }
};

/// Memory of frames that is kept for later calls: two cameras of 640x480 at two times fit.
constexpr std::int64_t kMaxPooledSceneBytes = std::int64_t{16} << 20;

/// Memory of a burst is returned to the system after this time without calls; a planner that asks
/// again and again finds it in place.
constexpr std::chrono::seconds kIdleDelay(2);

/// Allowance for the size of a message beyond its counted data.
constexpr std::int64_t kEnvelopeBytes = std::int64_t{1} << 20;

int MessageLimit(std::int64_t bytes) {
  return static_cast<int>(std::min<std::int64_t>(bytes, std::numeric_limits<int>::max()));
}

void SetLimits(const Limits& limits, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(MessageLimit(limits.max_request_bytes));
  // Admission limits responses before work starts, so the library's own limit is set high.
  builder->SetMaxSendMessageSize(
      MessageLimit(std::max(limits.max_request_bytes, limits.max_response_bytes + kEnvelopeBytes)));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.max_streams_per_connection);
  // Beyond its own limit the library describes all headers, which may end the process
  // (CVE-2023-1428); the front door refuses such calls before.
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 2 * kMaxHeaderListBytes);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kMinPingIntervalMs);
  // The library would inflate a message before it compares its size with the limit.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  grpc::ResourceQuota quota("interlacer");
  quota.Resize(static_cast<std::size_t>(limits.memory_quota_bytes));
  quota.SetMaxThreads(kMaxLibraryThreads);
  builder->SetResourceQuota(quota);
}

using Builder = grpc::ServerBuilder::experimental_type;

Clock::duration DurationOf(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

FrontDoorLimits DoorLimits(const Limits& limits) {
  return {{limits.max_request_bytes, DurationOf(limits.upload_timeout_s),
           static_cast<std::size_t>(limits.max_streams_per_connection)},
          limits.max_inflight_request_bytes,
          limits.max_connections,
          DurationOf(limits.slow_reader_timeout_s)};
}

/// Failures that may pass when a supervisor tries again, such as a lack of memory, are not the
/// model's.
ServerExit ExitOfLoad(const Status& status) {
  if (status.reason() == reason::DEVICE_ABSENT) return ServerExit::kDeviceAbsent;
  const bool may_pass =
      status.code() == StatusCode::kInternal || status.code() == StatusCode::kResourceExhausted;
  return may_pass ? ServerExit::kInternal : ServerExit::kBadModel;
}

}  // namespace

StatusOr<std::unique_ptr<InterlacerServer>> InterlacerServer::Start(
    const ServerOptions& options, std::vector<ModelSource> models) {
  INTERLACER_RETURN_IF_ERROR(CheckAddresses(options));
  std::unique_ptr<InterlacerServer> server(new InterlacerServer(options, std::move(models)));
  INTERLACER_RETURN_IF_ERROR(server->OpenRecorder());
  INTERLACER_RETURN_IF_ERROR(server->Listen());
  return server;
}

InterlacerServer::InterlacerServer(const ServerOptions& options, std::vector<ModelSource> models)
    : options_(options),
      state_([this](ServerState state) { OnStateChange(state); }),
      models_(std::move(models)),
      memory_(options.limits.max_inflight_request_bytes),
      calls_([this] { worker_.NoteFreed(); }),
      context_{options_.limits, NewRandomId(), state_,   models_,     worker_, decoders_,
               frames_,         memory_,       metrics_, statistics_, calls_,  scenes_},
      worker_(options.limits.max_queue_length, options.limits.max_active_calls, ReleaseIdleMemory,
              kIdleDelay),
      scenes_(
          options.limits.max_scene_count, options.limits.max_scene_bytes,
          [this](std::shared_ptr<const Scene> scene) { worker_.Free(std::move(scene)); },
          [this](const char* cause) { metrics_.CountSceneEviction(cause); }),
      frames_(options.limits.max_active_calls, kMaxPooledSceneBytes),
      decoders_(options.decode_threads),
      service_(&context_) {}

InterlacerServer::~InterlacerServer() {
  loader_.request_stop();
  if (loader_.joinable()) loader_.join();
  if (server_ != nullptr) {
    worker_.CancelAll(Unavailable(reason::DRAINING, "the server is stopping"));
    server_->Shutdown(std::chrono::system_clock::now() + kResponseFlushTime);
  }
  if (door_ != nullptr) door_->Stop();
  worker_.Stop();
  // It describes the parts that go next.
  recorder_.reset();
}

Status InterlacerServer::OpenRecorder() {
  if (options_.record_dir.empty()) return Status::Ok();
  const auto describe = [this] {
    std::vector<FlightMessage> messages;
    const auto add = [&](const char* name, const google::protobuf::Message& message) {
      messages.push_back({0, name, SerializeResponse(message)});
    };
    const wire::GetServerInfoResponse info = GetServerInfo(context_);
    add("interlacer.v1.GetServerInfoResponse", info);
    for (const wire::ModelStatus& model : info.models()) {
      wire::GetModelMetadataRequest request;
      request.set_model_name(model.model_name());
      const auto metadata = GetModelMetadata(context_, request);
      if (metadata.ok()) add("interlacer.v1.GetModelMetadataResponse", *metadata);
    }
    return messages;
  };
  INTERLACER_ASSIGN_OR_RETURN(recorder_,
                              FlightRecorder::Open(options_.record_dir, options_.record_bytes,
                                                   context_.instance_id, describe));
  context_.recorder = recorder_.get();
  return Status::Ok();
}

Status InterlacerServer::Listen() {
  if (!options_.metrics_address.empty()) {
    INTERLACER_RETURN_IF_ERROR(metrics_.Expose(options_.metrics_address));
  }
  std::unique_ptr<TlsIdentity> identity;
  if (options_.tls.is_set()) {
    INTERLACER_ASSIGN_OR_RETURN(identity, TlsIdentity::Load(options_.tls));
  }
  INTERLACER_ASSIGN_OR_RETURN(
      door_, FrontDoor::Open(options_.address, DoorLimits(options_.limits), std::move(identity)));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (!HasReflection(options_)) builder.SetOption(std::make_unique<WithoutReflection>());
  SetLimits(options_.limits, &builder);
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Builder::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  INTERLACER_CHECK(server_ != nullptr, "the gRPC library cannot start");
  health_.Attach(server_->GetHealthCheckService(), state_.state());
  door_->Start(
      [this](int fd) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = fd;
        acceptor_->HandleNewConnection(&connection);
      },
      [this](const Status& status) { metrics_.CountRefusal(status); });
  Log(LogLevel::kInfo, "listening",
      {{"address", options_.address},
       {"port", std::to_string(port())},
       {"tls", door_->speaks_tls() ? "on" : "off"},
       {"version", kVersion}});
  loader_ = std::jthread([this](std::stop_token stop) {
    LoadModels(stop);
    is_load_done_ = true;
  });
  return Status::Ok();
}

void InterlacerServer::LoadModels(std::stop_token stop) {
  Status status = models_.LoadAll(stop);
  if (!stop.stop_requested() && (status.ok() || options_.allow_failed_models)) {
    state_.Advance(ServerState::kWarmingUp);
    const Status warm_up = models_.WarmUpAll(stop);
    if (status.ok()) status = warm_up;
  }
  if (stop.stop_requested()) return;
  const ServedModel* model = models_.FirstReady();
  if (model == nullptr || (!status.ok() && !options_.allow_failed_models)) {
    load_exit_ = static_cast<int>(ExitOfLoad(status));
    return;
  }
  if (const Status fits = CheckMemoryFits(models_.Memories(), options_.limits); !fits.ok()) {
    Log(LogLevel::kError, "the limits do not fit", {{"error", fits.ToString()}});
    // Memory that others hold may come free; a device does not grow.
    load_exit_ = static_cast<int>(fits.reason() == reason::CONFIG_INVALID ? ServerExit::kUsage
                                                                          : ServerExit::kInternal);
    return;
  }
  metrics_.SetBuildInfo(kVersion, kBuildId, model->predictor->device_name());
  if (state_.Advance(ServerState::kServing)) {
    Log(LogLevel::kInfo, "serving",
        {{"address", options_.address},
         {"device", model->predictor->device_name()},
         {"fallback", model->predictor->is_device_fallback() ? "yes" : "no"}});
  }
}

void InterlacerServer::OnStateChange(ServerState state) {
  metrics_.SetState(state);
  health_.SetState(state);
}

void InterlacerServer::Drain() {
  if (!state_.Advance(ServerState::kDraining)) return;
  Log(LogLevel::kInfo, "draining", {{"calls", std::to_string(calls_.count())}});
  door_->Drain();
  loader_.request_stop();
  drain_limit_ = Clock::now() + DurationOf(options_.limits.drain_timeout_s);
}

std::optional<ServerExit> InterlacerServer::PollDeviceLost() {
  if (!device_lost_limit_) {
    device_lost_limit_ = Clock::now() + kDeviceLostGrace;
    worker_.CancelAll(Status(StatusCode::kInternal, reason::DEVICE_LOST, "the device failed"));
  }
  if (!HaveAnswersArrived() && Clock::now() < *device_lost_limit_) return std::nullopt;
  return ServerExit::kInternal;
}

bool InterlacerServer::HaveAnswersArrived() { return calls_.count() == 0 && door_->HasSentAll(); }

void InterlacerServer::CancelCalls() {
  worker_.CancelAll(Unavailable(reason::DRAINING, "the server is stopping"));
}

void InterlacerServer::Abandon() {
  door_.reset();
  if (recorder_ != nullptr) recorder_->Finish();
}

bool InterlacerServer::ProbeItself(std::stop_token stop, Clock::duration limit) {
  const Clock::time_point end = Clock::now() + limit;
  const auto connection_limit = std::chrono::system_clock::now() + limit;
  if (door_->speaks_tls()) {
    // No certificate that the server takes is at hand: in by the back of the door.
    UniqueFd connection = door_->Connect();
    return connection.is_open() && AnswersAsLive(connection.Release(), stop, connection_limit) &&
           worker_.AwaitTurn(stop, end);
  }
  std::string address = options_.address;
  if (port() != 0)
    address.replace(address.rfind(':') + 1, std::string::npos, std::to_string(port()));
  return AnswersAsLive(address, stop, connection_limit) && worker_.AwaitTurn(stop, end);
}

std::optional<ServerExit> InterlacerServer::Poll() {
  metrics_.SetQueue(worker_.queue_length(), worker_.active_count());
  scenes_.DropExpired(Clock::now());
  metrics_.SetScenes(scenes_.count(), scenes_.used_bytes());
  metrics_.SetTlsFilesStale(door_->has_stale_identity());
  if (recorder_ != nullptr) metrics_.SetUnrecorded(recorder_->lost_count());
  calls_.AbortStalled(options_.limits.slow_reader_timeout_s);
  calls_.LimitWaiting(memory_.Share(/*is_urgent=*/false));
  const auto unit_start = worker_.unit_start();
  const std::chrono::duration<double> watchdog(options_.limits.watchdog_s);
  if (unit_start && Clock::now() - *unit_start > watchdog) {
    if (state_.Advance(ServerState::kDeviceLost)) Log(LogLevel::kError, "a unit of work hangs");
  }
  if (state_.state() == ServerState::kDeviceLost) return PollDeviceLost();
  if (drain_limit_) {
    if (HaveAnswersArrived()) return ServerExit::kDone;
    const bool is_late = Clock::now() > *drain_limit_ + DurationOf(kCancelledStatusTimeS);
    if (is_late && calls_.count() == 0) return ServerExit::kDone;
    if (Clock::now() > *drain_limit_ + kDrainGrace) {
      Log(LogLevel::kWarning, "stopped without the end of some calls",
          {{"calls", std::to_string(calls_.count())}});
      return ServerExit::kDone;
    }
    if (Clock::now() > *drain_limit_) {
      CancelCalls();
      calls_.AbortStalled(kCancelledStatusTimeS);
    }
    return std::nullopt;
  }
  if (load_exit_ != 0) return static_cast<ServerExit>(load_exit_.load());
  return std::nullopt;
}

}  // namespace interlacer
