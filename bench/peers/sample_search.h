#pragma once

/// Finds the nearest particles of samples on rays with nanoflann, with one tree per cloud. Threads:
/// the pool's inside; one call at a time.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace interlacer::bench {

/// False when the program was built without nanoflann.
bool SampleSearchAvailable();

class SampleSearch {
 public:
  /// `positions_m` [n,3] must outlive the search; n >= k.
  explicit SampleSearch(std::span<const float> positions_m);
  ~SampleSearch();
  /// points [r,s,3] -> [r,s,k] int64
  at::Tensor Nearest(const at::Tensor& points_m, int k) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace interlacer::bench
