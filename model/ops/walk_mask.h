#pragma once

/// The sparse mask of one step: pairs of the token graph, in host memory or on a device, with the
/// loads from which pair weights are computed. Immutable. Threads: const methods may run together.

#include <torch/types.h>

#include <cstdint>

#include "knn/knn_graph.h"
#include "model/kernels/grf_attention.h"

namespace interlacer {

/// Pairs in CSR form in int32 tensors on a device. Arrays of pairs are sized for the fullest graph,
/// so that shapes depend on T alone; the number of pairs is offsets[T], on the device. Arrays by
/// end node may be undefined without a backward pass.
struct DeviceWalks {
  torch::Tensor offsets;  ///< [T+1]
  torch::Tensor entries;  ///< [capacity] packed entries, or end nodes
  torch::Tensor transposed_offsets;
  torch::Tensor transposed_roots;
  torch::Tensor transposed_entry_index;
};

class WalkMask {
 public:
  /// Exact lists; an edge weighs 1 / out_degree. The transpose serves the backward pass only.
  WalkMask(WalkLists lists, int out_degree, bool with_transpose);
  WalkMask(WeightedWalkLists lists, bool with_transpose);
  /// Lists built on a device; `loads` as below, zero in rows that are not pairs.
  WalkMask(DeviceWalks walks, bool packed, torch::Tensor loads);

  /// Copies the pairs to the device of `like`.
  WalkMask CopyTo(const torch::Tensor& like) const;

  std::int64_t token_count() const;
  /// Number of pairs; on a device the capacity of the arrays.
  std::int64_t pair_count() const;
  bool packed() const { return packed_; }

  /// Pointers to the lists in host or device memory: offsets, then packed entries or end nodes.
  const std::int32_t* offsets() const;
  const std::uint32_t* entries() const;
  const std::int32_t* nodes() const;
  GrfTransposedPairs transposed() const;

  /// loads[.,t]: estimate of the t-th power of the weighted adjacency; float64, or float32 on a
  /// device.
  const torch::Tensor& loads() const { return loads_; }

 private:
  bool packed_;
  bool on_device_ = false;
  WalkLists lists_;
  WeightedWalkLists weighted_;
  TransposedLists transposed_;
  DeviceWalks device_;
  torch::Tensor loads_;
};

}  // namespace interlacer
