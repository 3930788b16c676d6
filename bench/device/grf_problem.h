#pragma once

/// Inputs of GRF attention on the host and on the device, with the expected results in float64.
/// Depends on the options alone.

#include <cstdint>
#include <vector>

#include "bench/device/walk_problem.h"
#include "model/kernels/grf_attention.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {

struct GrfProblem {
  explicit GrfProblem(const Options& options);

  std::int64_t n() const { return walks.graph.n; }
  GrfShape shape() const { return {n(), width, width}; }
  /// Expected out and normalizer; with `bf16` computed from inputs rounded to bfloat16.
  struct Answer {
    std::vector<double> out, normalizer;
  };
  Answer Forward(bool bf16) const;
  /// Gradients of q, k, v and of the table, concatenated.
  std::vector<double> Backward() const;

  int width;
  WalkProblem walks;
  std::vector<float> table, q, k, v, grad_out;
};

/// The arrays of a GrfProblem on the device.
struct GrfDeviceProblem {
  explicit GrfDeviceProblem(const GrfProblem& host);

  GrfPackedPairs<float> pairs() const { return {offsets.get(), entries.get(), table.get()}; }
  GrfInputs<float> inputs() const { return {q.get(), k.get(), v.get()}; }

  CheckedStream stream;
  DeviceArray<std::int32_t> offsets;
  DeviceArray<std::uint32_t> entries;
  DeviceArray<float> table, q, k, v;
  DeviceArray<float> out, normalizer;
};

}  // namespace interlacer::bench
