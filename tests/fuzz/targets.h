#pragma once

/// What takes bytes from outside, and what must hold for any: no crash, no refusal without a reason
/// and a sentence, no more memory than limits allow. Broken rules are failed expectations of
/// GoogleTest, so that a test and a fuzzer share them. One thread.

#include <string>
#include <vector>

#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer::testing {

struct FuzzTarget {
  std::string name;
  /// Checks; true when the bytes were taken.
  bool (*check)(const std::string& bytes);
  /// Inputs that are taken.
  std::vector<std::string> seeds;
};

/// Pictures, requests, connections, tensors, manifests, arrays, tables, costs.
std::vector<FuzzTarget> FuzzTargets();

/// What a server does with a request before it computes; true when it would compute.
bool Admit(v1::PredictRolloutRequest request);
v1::PredictRolloutRequest CompressedRequest();

}  // namespace interlacer::testing
