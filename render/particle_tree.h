#pragma once

/// A cloud of particles sorted into a 16-wide tree of boxes, with their features beside them.
///
///   positions_m [n,3], features [n,feature_width], float32, finite
/// Built by median splits along the longest side, ties by index: equal inputs give equal trees.
/// Immutable after construction, so shared freely between threads.

#include <cstdint>
#include <span>
#include <vector>

#include "render/kernels/gather16.h"

namespace interlacer {

class ParticleTree {
 public:
  ParticleTree(std::span<const float> positions_m, std::span<const float> features,
               int feature_width);
  ParticleTree(const ParticleTree&) = delete;
  ParticleTree& operator=(const ParticleTree&) = delete;

  const ParticleTreeView& view() const { return view_; }
  std::int64_t particle_count() const { return view_.particle_count; }
  /// [slots, feature_stride()], zero padded.
  const float* features() const { return features_.data(); }
  int feature_stride() const { return feature_stride_; }
  /// Slots are a permutation of the particles followed by padding.
  std::span<const std::uint32_t> original_index() const { return original_index_; }

 private:
  void BuildLeaves(std::span<const float> positions_m);
  void BuildBoxes();

  int feature_stride_;
  ParticleTreeView view_;
  std::vector<std::uint32_t> original_index_;
  std::vector<std::uint32_t> slot_of_index_;
  std::vector<float> leaf_xyz_;
  std::vector<std::vector<float>> level_boxes_;
  std::vector<float> features_;
};

}  // namespace interlacer
