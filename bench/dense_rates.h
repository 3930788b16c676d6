#pragma once

/// Rates of the matrix products that the model's dense layers are made of, through LibTorch.
/// Empty in a build without LibTorch. Threads: one at a time.

#include <string>
#include <vector>

namespace interlacer::bench {

struct DenseRate {
  std::string dtype;
  std::string shape;  ///< MxNxK
  double flops_per_second = 0;
};

std::vector<DenseRate> MeasureDenseRates();

}  // namespace interlacer::bench
