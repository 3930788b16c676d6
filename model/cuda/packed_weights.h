#pragma once

/// What a device's kernels take of weights, such as the weights of layers in their order, kept
/// between steps.
///
/// It is made again when a weight was replaced or changed in place by an operation of torch; work
/// recorded before then (model/cuda/recorded_work.h) is no longer valid. Threads: as torch modules.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace interlacer {

/// A tensor that depends on weights alone.
class KeptTensor {
 public:
  /// What `make` gave for these weights; valid while this lives and no weight changes.
  const torch::Tensor& Of(const std::vector<torch::Tensor>& weights,
                          const std::function<torch::Tensor()>& make);

 private:
  bool IsOf(const std::vector<torch::Tensor>& weights) const;

  /// Shares the weights' memory, so that no other weight can come to stand there.
  std::vector<torch::Tensor> weights_;
  std::vector<std::int64_t> versions_;
  torch::Tensor kept_;
};

class PackedWeights {
 public:
  /// Launches what writes the packed numbers.
  using Pack = std::function<void(std::uint16_t* packed, void* stream)>;

  /// `count` numbers beside the first weight.
  const std::uint16_t* Of(const std::vector<torch::Tensor>& weights, std::int64_t count,
                          const Pack& pack);

 private:
  KeptTensor packed_;
};

}  // namespace interlacer
