#include "bench/device/graph_work.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace interlacer::bench {
namespace {

constexpr double kFigureMs = 1;
constexpr int kMaxReplays = 10'000;

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

class CapturedWork {
 public:
  explicit CapturedWork(const Launch& launch) {
    RunOnce(stream_, launch);  // kernels are loaded and limits raised before the capture
    cudaGraph_t graph = nullptr;
    RequireCuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
                "begin capture");
    const int launched = launch(stream_.get());
    const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &graph);
    RequireCuda(launched, "launch in a capture");
    RequireCuda(ended, "end capture");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    (void)cudaGraphDestroy(graph);
    RequireCuda(made, "cudaGraphInstantiate");
    RequireCuda(cudaGraphUpload(executable_, stream_.get()), "cudaGraphUpload");
  }
  ~CapturedWork() { (void)cudaGraphExecDestroy(executable_); }
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// Mean time of a replay.
  double ReplayMs(int count) {
    RequireCuda(cudaEventRecord(start_.get(), stream_.get()), "cudaEventRecord");
    for (int i = 0; i < count; ++i) {
      RequireCuda(cudaGraphLaunch(executable_, stream_.get()), "cudaGraphLaunch");
    }
    RequireCuda(cudaEventRecord(stop_.get(), stream_.get()), "cudaEventRecord");
    RequireCuda(cudaEventSynchronize(stop_.get()), "replay");
    float ms = 0;
    RequireCuda(cudaEventElapsedTime(&ms, start_.get(), stop_.get()), "cudaEventElapsedTime");
    return static_cast<double>(ms) / count;
  }

 private:
  BenchStream stream_;
  Event start_, stop_;
  cudaGraphExec_t executable_ = nullptr;
};

int ReplaysFor(CapturedWork* work) {
  work->ReplayMs(1);
  const double once_ms = std::max(work->ReplayMs(1), 1e-4);
  return static_cast<int>(
      std::clamp(std::ceil(kFigureMs / once_ms), 1.0, static_cast<double>(kMaxReplays)));
}

}  // namespace

void RunOnce(const BenchStream& stream, const Launch& launch) {
  RequireCuda(launch(stream.get()), "launch");
  stream.Wait();
}

Work GraphWork(std::function<Launch()> make_launch, const Options& options) {
  struct State {
    std::unique_ptr<CapturedWork> work;
    int replays = 1;
  };
  return [state = std::make_shared<State>(), make_launch = std::move(make_launch),
          single = options.inputs == "rotated"] {
    if (!state->work) {
      state->work = std::make_unique<CapturedWork>(make_launch());
      if (!single) state->replays = ReplaysFor(state->work.get());
    }
    return state->work->ReplayMs(state->replays);
  };
}

}  // namespace interlacer::bench
