#pragma once

/// What the device's cases of linear attention share: inputs, the answer in float64, peers.

#include <functional>
#include <memory>
#include <vector>

#include "bench/case.h"
#include "bench/options.h"
#include "model/kernels/linear_attention.h"

namespace interlacer::bench {

LinearAttentionShape LinearShapeOf(const Options& options);

/// Queries, keys and values [tokens, d], in bf16 rounded to it; made from the options alone.
struct LinearProblem {
  explicit LinearProblem(const Options& options);

  /// [tokens, d]
  std::vector<double> Forward() const;

  LinearAttentionShape shape;
  bool is_bf16;
  std::vector<float> q, k, v;
};

/// The case against LibTorch's operations in the problem's type, errors of which are below `bound`.
std::vector<Case> AgainstLinearTorch(const Case& base, const Options& options,
                                     const std::shared_ptr<const LinearProblem>& problem,
                                     const std::function<std::vector<double>&()>& expected,
                                     double bound);

}  // namespace interlacer::bench
