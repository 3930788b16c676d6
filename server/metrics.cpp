#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace interlacer {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets kCallSeconds = {.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30};
const Buckets kStageSeconds = {.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10};
const Buckets kBytes = {1e3, 1e4, 1e5, 1e6, 4e6, 1.6e7, 6.4e7};
const Buckets kRatio = {.05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95};
const Buckets kSkewSeconds = {.0001, .001, .002, .005, .01, .02, .05, .1};
const Buckets kMeters = {.001, .002, .005, .01, .02, .03, .05, .1, .2};

/// A scrape has its thread for this long at most, so that clients that send half a request hold up
/// others for a moment only, however many they are.
constexpr char kScrapeThreads[] = "16";
constexpr char kScrapeTimeoutMs[] = "250";

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
  prometheus::Family<prometheus::Gauge>& start_time =
      Gauge("interlacer_start_time_seconds", "when the server started, Unix time");
  prometheus::Family<prometheus::Gauge>& state =
      Gauge("interlacer_server_state", "1 for the present state");
  prometheus::Family<prometheus::Gauge>& queue_length =
      Gauge("interlacer_queue_length", "calls that wait");
  prometheus::Family<prometheus::Gauge>& active_calls =
      Gauge("interlacer_active_calls", "calls that hold device state");
  prometheus::Family<prometheus::Gauge>& scenes = Gauge("interlacer_scenes", "scenes kept");
  prometheus::Family<prometheus::Gauge>& scene_bytes =
      Gauge("interlacer_scene_bytes", "memory of the scenes kept");
  prometheus::Family<prometheus::Gauge>& device_lost =
      Gauge("interlacer_device_lost", "1 from a failure of the device to the end of the process");
  prometheus::Family<prometheus::Gauge>& tls_files_stale =
      Gauge("interlacer_tls_files_stale", "1 while changed files of TLS are no good");
  prometheus::Family<prometheus::Counter>& requests =
      Counter("interlacer_requests_total", "finished calls");
  prometheus::Family<prometheus::Counter>& cancelled =
      Counter("interlacer_cancelled_total", "cancelled calls, by where they were");
  prometheus::Family<prometheus::Counter>& refusals =
      Counter("interlacer_refused_total", "calls and connections refused before their method");
  prometheus::Family<prometheus::Counter>& steps =
      Counter("interlacer_steps_total", "dynamics steps computed");
  prometheus::Family<prometheus::Counter>& candidates =
      Counter("interlacer_candidates_total", "candidates finished, also those that failed");
  prometheus::Family<prometheus::Counter>& scene_evictions =
      Counter("interlacer_scene_evictions_total", "scenes that went, by cause");
  prometheus::Family<prometheus::Counter>& unrecorded =
      Counter("interlacer_unrecorded_messages_total", "messages that a recording lacks");
  prometheus::Family<prometheus::Counter>& rendered_pixels =
      Counter("interlacer_rendered_pixels_total", "pixels rendered");
  prometheus::Family<prometheus::Histogram>& request_seconds =
      Histogram("interlacer_request_duration_seconds", "life of a call");
  prometheus::Family<prometheus::Histogram>& stage_seconds =
      Histogram("interlacer_stage_duration_seconds", "time of a call by stage");
  prometheus::Family<prometheus::Histogram>& step_seconds =
      Histogram("interlacer_step_duration_seconds", "time of one dynamics step");
  prometheus::Family<prometheus::Histogram>& unit_seconds =
      Histogram("interlacer_unit_duration_seconds", "time of one unit of work on the device");
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

  // Series that every call updates are looked up once, because a lookup costs more than counting.
  prometheus::Histogram& queue_seconds = StageSeconds("queue");
  prometheus::Histogram& decode_seconds = StageSeconds("decode");
  prometheus::Histogram& lift_seconds = StageSeconds("lift");
  prometheus::Histogram& dynamics_seconds = StageSeconds("dynamics");
  prometheus::Histogram& render_seconds = StageSeconds("render");
  prometheus::Histogram& encode_seconds = StageSeconds("encode");
  prometheus::Histogram& blocked_seconds = StageSeconds("blocked");

  struct MethodSeries {
    prometheus::Counter& successes;
    prometheus::Histogram& request_bytes;
    prometheus::Histogram& response_bytes;
    std::map<std::string, prometheus::Histogram*> seconds_by_priority;
  };
  struct ModelSeries {
    prometheus::Counter& steps;
    prometheus::Histogram& step_seconds;
    prometheus::Histogram& unit_seconds;
  };
  std::mutex mutex;
  std::map<std::string, MethodSeries> methods;
  std::map<std::string, ModelSeries> models;

  prometheus::Histogram& StageSeconds(const char* stage) {
    return stage_seconds.Add({{"stage", stage}}, kStageSeconds);
  }

  prometheus::Counter& Requests(const std::string& method, StatusCode code,
                                const std::string& reason) {
    return requests.Add(
        {{"method", method}, {"code", std::string(StatusCodeName(code))}, {"reason", reason}});
  }

  /// Requires the lock.
  MethodSeries& OfMethod(const std::string& method) {
    const auto it = methods.find(method);
    if (it != methods.end()) return it->second;
    return methods
        .emplace(method, MethodSeries{Requests(method, StatusCode::kOk, ""),
                                      request_bytes.Add({{"method", method}}, kBytes),
                                      response_bytes.Add({{"method", method}}, kBytes),
                                      {}})
        .first->second;
  }

  /// Requires the lock.
  prometheus::Histogram& CallSeconds(MethodSeries* series, const CallRecord& record) {
    prometheus::Histogram*& seconds = series->seconds_by_priority[record.priority];
    if (seconds == nullptr) {
      seconds = &request_seconds.Add({{"method", record.method}, {"priority", record.priority}},
                                     kCallSeconds);
    }
    return *seconds;
  }

  /// Requires the lock.
  ModelSeries& OfModel(const std::string& model) {
    const auto it = models.find(model);
    if (it != models.end()) return it->second;
    return models
        .emplace(model, ModelSeries{steps.Add({{"model", model}}),
                                    step_seconds.Add({{"model", model}}, kStageSeconds),
                                    unit_seconds.Add({{"model", model}}, kStageSeconds)})
        .first->second;
  }

  void ObserveStages(const StageDurations& d) {
    for (const auto& [histogram, seconds] :
         {std::pair{&queue_seconds, d.queue_s}, std::pair{&decode_seconds, d.decode_s},
          std::pair{&lift_seconds, d.lift_s}, std::pair{&dynamics_seconds, d.dynamics_s},
          std::pair{&render_seconds, d.render_s}, std::pair{&encode_seconds, d.encode_s},
          std::pair{&blocked_seconds, d.blocked_s}}) {
      if (seconds > 0) histogram->Observe(seconds);
    }
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  families_->start_time.Add({}).SetToCurrentTime();
  families_->device_lost.Add({}).Set(0);
  SetState(ServerState::kStarting);
  SetQueue(0, 0);
  SetScenes(0, 0);
  SetTlsFilesStale(false);
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

void Metrics::SetScenes(int count, std::int64_t bytes) {
  families_->scenes.Add({}).Set(count);
  families_->scene_bytes.Add({}).Set(static_cast<double>(bytes));
}

void Metrics::SetUnrecorded(std::int64_t count) {
  prometheus::Counter& unrecorded = families_->unrecorded.Add({});
  unrecorded.Increment(static_cast<double>(count) - unrecorded.Value());
}

void Metrics::SetTlsFilesStale(bool is_stale) {
  families_->tls_files_stale.Add({}).Set(is_stale ? 1 : 0);
}

void Metrics::CountSceneEviction(const std::string& cause) {
  families_->scene_evictions.Add({{"cause", cause}}).Increment();
}

void Metrics::CountCandidate(const std::string& model_name) {
  families_->candidates.Add({{"model", model_name}}).Increment();
}

void Metrics::CountCall(const CallRecord& record, const Status& status) {
  const std::chrono::duration<double> life = std::chrono::steady_clock::now() - record.start;
  {
    std::lock_guard lock(families_->mutex);
    Families::MethodSeries& series = families_->OfMethod(record.method);
    if (status.ok()) {
      series.successes.Increment();
    } else {
      families_->Requests(record.method, status.code(), status.reason()).Increment();
    }
    families_->CallSeconds(&series, record).Observe(life.count());
    series.request_bytes.Observe(static_cast<double>(record.request_bytes));
    series.response_bytes.Observe(static_cast<double>(record.response_bytes));
  }
  families_->ObserveStages(record.durations);
  if (!record.cancelled_where.empty()) {
    families_->cancelled.Add({{"where", record.cancelled_where}}).Increment();
  }
}

void Metrics::CountLostResponse() {
  families_->cancelled.Add({{"where", "slow_reader"}}).Increment();
}

void Metrics::CountRefusal(const Status& status) {
  families_->refusals
      .Add({{"code", std::string(StatusCodeName(status.code()))}, {"reason", status.reason()}})
      .Increment();
}

void Metrics::CountStep(const std::string& model_name, double seconds) {
  std::lock_guard lock(families_->mutex);
  Families::ModelSeries& series = families_->OfModel(model_name);
  series.steps.Increment();
  series.step_seconds.Observe(seconds);
}

void Metrics::ObserveUnit(const std::string& model_name, double seconds) {
  std::lock_guard lock(families_->mutex);
  families_->OfModel(model_name).unit_seconds.Observe(seconds);
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
    families_->exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", kScrapeThreads,
                                 "request_timeout_ms", kScrapeTimeoutMs});
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
