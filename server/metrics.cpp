#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <utility>

namespace interlacer {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets kCallSeconds = {.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30};
const Buckets kStageSeconds = {.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10};
const Buckets kBytes = {1e3, 1e4, 1e5, 1e6, 4e6, 1.6e7, 6.4e7};
const Buckets kRatio = {.05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95};
const Buckets kSkewSeconds = {.0001, .001, .002, .005, .01, .02, .05, .1};
const Buckets kMeters = {.001, .002, .005, .01, .02, .03, .05, .1, .2};

constexpr ServerState kStates[] = {ServerState::kStarting, ServerState::kWarmingUp,
                                   ServerState::kServing, ServerState::kDraining,
                                   ServerState::kDeviceLost};

}  // namespace

struct Metrics::Families {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::unique_ptr<prometheus::Exposer> exposer;

  prometheus::Family<prometheus::Gauge>& Gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(*registry);
  }
  prometheus::Family<prometheus::Counter>& Counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
  }
  prometheus::Family<prometheus::Histogram>& Histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry);
  }

  prometheus::Family<prometheus::Gauge>& build_info =
      Gauge("interlacer_build_info", "1, with version, revision and device");
  prometheus::Family<prometheus::Gauge>& state =
      Gauge("interlacer_server_state", "1 for the present state");
  prometheus::Family<prometheus::Gauge>& queue_length =
      Gauge("interlacer_queue_length", "calls that wait");
  prometheus::Family<prometheus::Gauge>& active_calls =
      Gauge("interlacer_active_calls", "calls that hold device state");
  prometheus::Family<prometheus::Gauge>& device_lost =
      Gauge("interlacer_device_lost", "1 after the device failed");
  prometheus::Family<prometheus::Counter>& requests =
      Counter("interlacer_requests_total", "finished calls");
  prometheus::Family<prometheus::Counter>& cancelled =
      Counter("interlacer_cancelled_total", "cancelled calls, by where they were");
  prometheus::Family<prometheus::Counter>& steps =
      Counter("interlacer_steps_total", "dynamics steps computed");
  prometheus::Family<prometheus::Counter>& rendered_pixels =
      Counter("interlacer_rendered_pixels_total", "pixels rendered");
  prometheus::Family<prometheus::Histogram>& request_seconds =
      Histogram("interlacer_request_duration_seconds", "life of a call");
  prometheus::Family<prometheus::Histogram>& stage_seconds =
      Histogram("interlacer_stage_duration_seconds", "time of a call by stage");
  prometheus::Family<prometheus::Histogram>& step_seconds =
      Histogram("interlacer_step_duration_seconds", "time of one dynamics step");
  prometheus::Family<prometheus::Histogram>& request_bytes =
      Histogram("interlacer_request_bytes", "size of a request");
  prometheus::Family<prometheus::Histogram>& response_bytes =
      Histogram("interlacer_response_bytes", "size of all messages of an answer");
  prometheus::Family<prometheus::Histogram>& valid_depth_ratio =
      Histogram("interlacer_valid_depth_ratio", "share of pixels with a valid depth");
  prometheus::Family<prometheus::Histogram>& camera_skew_seconds =
      Histogram("interlacer_camera_skew_seconds", "spread of the exposures of an observation");
  prometheus::Family<prometheus::Histogram>& cross_camera_distance = Histogram(
      "interlacer_cross_camera_distance_meters", "median distance between what two cameras see");

  void ObserveStages(const StageDurations& d) {
    for (const auto& [stage, seconds] :
         {std::pair{"queue", d.queue_s}, std::pair{"decode", d.decode_s},
          std::pair{"lift", d.lift_s}, std::pair{"dynamics", d.dynamics_s},
          std::pair{"render", d.render_s}, std::pair{"encode", d.encode_s},
          std::pair{"blocked", d.blocked_s}}) {
      if (seconds > 0) stage_seconds.Add({{"stage", stage}}, kStageSeconds).Observe(seconds);
    }
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  families_->device_lost.Add({}).Set(0);
  SetState(ServerState::kStarting);
  SetQueue(0, 0);
}

Metrics::~Metrics() = default;

void Metrics::SetBuildInfo(const std::string& version, const std::string& build_id,
                           const std::string& device) {
  families_->build_info.Add({{"version", version}, {"revision", build_id}, {"device", device}})
      .Set(1);
}

void Metrics::SetState(ServerState state) {
  for (const ServerState s : kStates) {
    families_->state.Add({{"state", ServerStateName(s)}}).Set(s == state ? 1 : 0);
  }
  if (state == ServerState::kDeviceLost) families_->device_lost.Add({}).Set(1);
}

void Metrics::SetQueue(int queue_length, int active_calls) {
  families_->queue_length.Add({}).Set(queue_length);
  families_->active_calls.Add({}).Set(active_calls);
}

void Metrics::CountCall(const CallRecord& record, const Status& status) {
  families_->requests
      .Add({{"method", record.method},
            {"code", std::string(StatusCodeName(status.code()))},
            {"reason", status.reason()}})
      .Increment();
  const std::chrono::duration<double> life = std::chrono::steady_clock::now() - record.start;
  families_->request_seconds
      .Add({{"method", record.method}, {"priority", record.priority}}, kCallSeconds)
      .Observe(life.count());
  families_->ObserveStages(record.durations);
  families_->request_bytes.Add({{"method", record.method}}, kBytes)
      .Observe(static_cast<double>(record.request_bytes));
  families_->response_bytes.Add({{"method", record.method}}, kBytes)
      .Observe(static_cast<double>(record.response_bytes));
  if (!record.cancelled_where.empty()) {
    families_->cancelled.Add({{"where", record.cancelled_where}}).Increment();
  }
}

void Metrics::CountStep(const std::string& model_name, double seconds) {
  families_->steps.Add({{"model", model_name}}).Increment();
  families_->step_seconds.Add({{"model", model_name}}, kStageSeconds).Observe(seconds);
}

void Metrics::CountPixels(const std::string& model_name, std::int64_t pixels) {
  families_->rendered_pixels.Add({{"model", model_name}}).Increment(static_cast<double>(pixels));
}

void Metrics::ObserveScene(const SceneReport& report) {
  for (const CameraReport& camera : report.cameras) {
    families_->valid_depth_ratio.Add({{"camera", camera.camera_name}}, kRatio)
        .Observe(camera.valid_depth_ratio);
  }
  families_->camera_skew_seconds.Add({}, kSkewSeconds).Observe(report.camera_skew_s);
  if (report.cross_camera_distance_m >= 0) {
    families_->cross_camera_distance.Add({}, kMeters).Observe(report.cross_camera_distance_m);
  }
}

Status Metrics::Expose(const std::string& address) {
  try {
    families_->exposer = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return InvalidArgument(reason::CONFIG_INVALID,
                           "metrics address " + address + " cannot be used: " + error.what())
        .WithField("metrics_address");
  }
  families_->exposer->RegisterCollectable(families_->registry);
  return Status::Ok();
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

}  // namespace interlacer
