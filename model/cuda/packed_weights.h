#pragma once

/// Caches of tensors derived from weights, such as weights packed for the device's kernels, kept
/// between steps.
///
/// A cached tensor is computed again when a weight was replaced or changed in place by an operation
/// of torch; recorded work (model/cuda/recorded_work.h) that used the old one is then invalid.
/// Threads: as torch modules.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/kernels/cuda.h"

namespace interlacer {

struct CudaBackend;

/// A cached tensor that depends on weights alone.
class CachedTensor {
 public:
  /// Result of `make` for these weights; valid while this object lives and no weight changes.
  const torch::Tensor& Of(const std::vector<torch::Tensor>& weights,
                          const std::function<torch::Tensor()>& make);

 private:
  bool IsOf(const std::vector<torch::Tensor>& weights) const;

  /// Holds the weights' memory, so that its address cannot be reused by other weights.
  std::vector<torch::Tensor> weights_;
  std::vector<std::int64_t> versions_;
  torch::Tensor kept_;
};

class PackedWeights {
 public:
  /// Launches the kernel that writes the packed weights.
  using Pack = std::function<void(std::uint16_t* packed, CudaStream stream)>;

  /// Returns `count` packed numbers on the device of the first weight.
  const std::uint16_t* Of(const CudaBackend& cuda, const std::vector<torch::Tensor>& weights,
                          std::int64_t count, const Pack& pack);

 private:
  CachedTensor packed_;
};

}  // namespace interlacer
