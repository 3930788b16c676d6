#pragma once

/// What takes bytes from outside, and what must hold for any: no crash, no refusal without a reason
/// and a sentence, no more memory than limits allow. Broken rules are failed expectations of
/// GoogleTest, so that a test and a fuzzer share them. One thread.

#include <string>
#include <vector>

#include "common/status.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer::testing {

/// Keeps the pixels of one accepted image below 25 KB.
inline constexpr int kMaxSidePx = 64;

struct FuzzTarget {
  std::string name;
  /// Checks; true when the bytes were taken.
  bool (*check)(const std::string& bytes);
  /// Inputs that are taken.
  std::vector<std::string> seeds;
};

/// A refusal says why in a word and a sentence.
void ExpectExplained(const Status& status);

/// Pictures, requests, connections, tensors, manifests, arrays, tables, costs, and those of
/// tests/fuzz/bag_targets.h.
std::vector<FuzzTarget> FuzzTargets();

/// What a server does with a request before it computes; true when it would compute.
bool Admit(v1::PredictRolloutRequest request);
v1::PredictRolloutRequest CompressedRequest();

}  // namespace interlacer::testing
