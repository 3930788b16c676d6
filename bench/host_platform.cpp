#include "bench/host_platform.h"

#include <utility>

#include "bench/ceilings.h"
#include "bench/stages/serve.h"
#include "bench/threads.h"

namespace interlacer::bench {

Platform HostPlatform() {
  Platform host;
  host.device = "cpu";
  host.stages = {
      {"knn", &MakeKnnCases},
      {"walks", &MakeWalkCases},
      {"grf_attention", &MakeGrfAttentionCases},
      {"linear_attention", &MakeLinearAttentionCases},
      {"step", &MakeStepCases},
      {"layers", &MakeLayerCases},
      {"mechanisms", &MakeMechanismCases},
      {"render", &MakeRenderCases},
      {"observed", &MakeObservedCases},
      {"ssim", &MakeSsimCases},
      {"rpc", &MakeRpcCases},
      {"train_step", &MakeTrainStepCases},
      {"update", &MakeUpdateCases},
  };
  host.prepare = [](const Options& options) { UseThreads(options.threads); };
  host.rate = [](Floor::Kind kind, const std::string& dtype) {
    return kind == Floor::Kind::kMemoryBytes ? CopyBytesPerSecond() : DenseFlopsPerSecond(dtype);
  };
  host.flush_caches = &FlushCaches;
  host.measure_ceilings = &MeasureCeilings;
  return WithServeStage(std::move(host));
}

}  // namespace interlacer::bench
