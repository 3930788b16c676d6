#pragma once

/// Weights of layers in the order in which a device's kernels take them, kept between steps.
///
/// They are packed again when a weight was replaced or changed in place by an operation of torch;
/// work recorded before then (model/ops/recorded_work.h) is no longer valid. Threads: as torch
/// modules.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace interlacer {

class PackedWeights {
 public:
  /// Launches what writes the packed numbers.
  using Pack = std::function<void(std::uint16_t* packed, void* stream)>;

  /// `count` numbers beside the first weight; valid while this lives and no weight changes.
  const std::uint16_t* Of(const std::vector<torch::Tensor>& weights, std::int64_t count,
                          const Pack& pack);

 private:
  bool IsOf(const std::vector<torch::Tensor>& weights) const;

  /// Shares the weights' memory, so that no other weight can come to stand there.
  std::vector<torch::Tensor> weights_;
  std::vector<std::int64_t> versions_;
  torch::Tensor packed_;
};

}  // namespace interlacer
