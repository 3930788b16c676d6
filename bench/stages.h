#pragma once

/// The stages by name, and how each makes its cases. A stage that this build or device lacks throws
/// StageAbsent; options that a stage does not take throw UsageError. Thread-safety: one at a time.

#include <stdexcept>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/options.h"

namespace interlacer::bench {

struct StageAbsent : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> StageNames();
/// One case for every peer of the stage, missing ones too.
std::vector<Case> MakeCases(const Options& options);

// One file each in bench/stages.
std::vector<Case> MakeKnnCases(const Options& options);
std::vector<Case> MakeWalkCases(const Options& options);
std::vector<Case> MakeGrfAttentionCases(const Options& options);
std::vector<Case> MakeLinearAttentionCases(const Options& options);
std::vector<Case> MakeStepCases(const Options& options);
std::vector<Case> MakeRenderCases(const Options& options);
std::vector<Case> MakeSsimCases(const Options& options);
std::vector<Case> MakeRpcCases(const Options& options);
std::vector<Case> MakeTrainStepCases(const Options& options);

}  // namespace interlacer::bench
