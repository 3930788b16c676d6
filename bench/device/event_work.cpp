#include "bench/device/event_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/device/device_array.h"

namespace interlacer::bench {
namespace {

constexpr double kFigureMs = 1;
constexpr int kMaxRepeats = 10'000;

class Event {
 public:
  Event() { RequireCuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stopwatch {
 public:
  /// Mean time of a run.
  double MeanMs(cudaStream_t stream, const std::function<void()>& body, int count) {
    RequireCuda(cudaEventRecord(start_.get(), stream), "cudaEventRecord");
    for (int i = 0; i < count; ++i) body();
    RequireCuda(cudaEventRecord(stop_.get(), stream), "cudaEventRecord");
    RequireCuda(cudaEventSynchronize(stop_.get()), "cudaEventSynchronize");
    float ms = 0;
    RequireCuda(cudaEventElapsedTime(&ms, start_.get(), stop_.get()), "cudaEventElapsedTime");
    return static_cast<double>(ms) / count;
  }

 private:
  Event start_, stop_;
};

int RepeatsFor(double once_ms) {
  return static_cast<int>(std::clamp(std::ceil(kFigureMs / std::max(once_ms, 1e-4)), 1.0,
                                     static_cast<double>(kMaxRepeats)));
}

}  // namespace

Work EventWork(std::function<cudaStream_t()> stream, std::function<void()> body,
               const Options& options) {
  const auto watch = OnFirstUse<Stopwatch>([] { return std::make_unique<Stopwatch>(); });
  return [watch, stream = std::move(stream), body = std::move(body),
          repeats = options.inputs == "rotated" ? 1 : 0]() mutable {
    const cudaStream_t on = stream();
    if (repeats == 0) {
      watch().MeanMs(on, body, 2);  // cold; work that records itself does so in its second run
      repeats = RepeatsFor(watch().MeanMs(on, body, 1));
    }
    return watch().MeanMs(on, body, repeats);
  };
}

}  // namespace interlacer::bench
