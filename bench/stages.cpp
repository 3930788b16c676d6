#include "bench/stages.h"

#include <utility>

namespace interlacer::bench {
namespace {

struct Stage {
  const char* name;
  std::vector<Case> (*make_cases)(const Options& options);
};

const Stage kStages[] = {
    {"knn", &MakeKnnCases},
    {"walks", &MakeWalkCases},
    {"grf_attention", &MakeGrfAttentionCases},
    {"linear_attention", &MakeLinearAttentionCases},
    {"step", &MakeStepCases},
    {"render", &MakeRenderCases},
    {"ssim", &MakeSsimCases},
    {"rpc", &MakeRpcCases},
    {"train_step", &MakeTrainStepCases},
};

}  // namespace

std::vector<std::string> StageNames() {
  std::vector<std::string> names;
  for (const Stage& stage : kStages) names.push_back(stage.name);
  return names;
}

std::vector<Case> MakeCases(const Options& options) {
  for (const Stage& stage : kStages) {
    if (options.stage == stage.name) return stage.make_cases(options);
  }
  throw UsageError("--stage: unknown " + options.stage);
}

}  // namespace interlacer::bench
