#pragma once

/// Measured rates of the matrix products in the model's dense layers, through LibTorch. Empty in a
/// build without LibTorch. Threads: one at a time.

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
