#pragma once

/// The platform of the CPU, with every stage of the product. Thread-safety: one at a time.

#include <vector>

#include "bench/platform.h"

namespace interlacer::bench {

Platform HostPlatform();

// Each is defined in a file of bench/stages.
std::vector<Case> MakeKnnCases(const Options& options);
std::vector<Case> MakeWalkCases(const Options& options);
std::vector<Case> MakeGrfAttentionCases(const Options& options);
std::vector<Case> MakeLinearAttentionCases(const Options& options);
std::vector<Case> MakeStepCases(const Options& options);
std::vector<Case> MakeLayerCases(const Options& options);
std::vector<Case> MakeMechanismCases(const Options& options);
std::vector<Case> MakeRenderCases(const Options& options);
std::vector<Case> MakeObservedCases(const Options& options);
std::vector<Case> MakeSsimCases(const Options& options);
std::vector<Case> MakeRpcCases(const Options& options);
std::vector<Case> MakeTrainStepCases(const Options& options);
std::vector<Case> MakeUpdateCases(const Options& options);

}  // namespace interlacer::bench
