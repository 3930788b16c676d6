#include "bench/device/graph_work.h"

#include <memory>
#include <utility>
#include <vector>

#include "bench/device/event_work.h"
#include "bench/timer.h"

namespace interlacer::bench {
namespace {

class CapturedWork {
 public:
  explicit CapturedWork(const Launch& launch) {
    RunOnce(stream_, launch);  // loads kernels and raises limits before the capture
    cudaGraph_t graph = nullptr;
    RequireCuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
                "begin capture");
    const CudaError launched = launch(stream_.get());
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

  cudaStream_t stream() const { return stream_.get(); }
  void Wait() const { stream_.Wait(); }
  void Replay() const {
    RequireCuda(cudaGraphLaunch(executable_, stream_.get()), "cudaGraphLaunch");
  }

 private:
  CheckedStream stream_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

void RunOnce(const CheckedStream& stream, const Launch& launch) {
  RequireCuda(launch(stream.get()), "launch");
  stream.Wait();
}

void RunReplayed(const Launch& launch, const std::function<void()>& before) {
  const CapturedWork work(launch);
  before();
  work.Replay();
  work.Wait();
}

Work GraphWork(std::function<Launch()> make_launch, const Options& options) {
  const auto work = OnFirstUse<CapturedWork>([make_launch = std::move(make_launch)] {
    return std::make_unique<CapturedWork>(make_launch());
  });
  return EventWork([work] { return work().stream(); }, [work] { work().Replay(); }, options);
}

double MedianMs(const Launch& launch) {
  constexpr int kFigures = 15;
  const Work work = GraphWork([&] { return launch; }, Options{});
  std::vector<double> figures_ms;
  for (int i = 0; i < kFigures; ++i) figures_ms.push_back(work());
  return Quantile(std::move(figures_ms), 0.5);
}

}  // namespace interlacer::bench
