#pragma once

/// Evaluates blocks of ray samples, from points to density and colour.
///
/// Row order is kept: ray by ray, near to far. After Gather only samples with a particle within the
/// empty radius remain. Sampler is immutable; each thread uses its own SampleBlock.

#include <cstdint>
#include <vector>

#include "render/composite.h"
#include "render/packed_field.h"
#include "render/particle_tree.h"
#include "render/ray_march.h"
#include "render/renderer.h"

namespace interlacer {

struct SampleBlock {
  std::vector<std::int32_t> ids;     ///< [m] index into the LiveSamples
  std::vector<std::int32_t> rows;    ///< [m] ray within the chunk
  std::vector<float> points_m;       ///< [m,3]
  std::vector<std::uint32_t> slots;  ///< [m,16]
  std::vector<float> sq_dist_m2;     ///< [m,16]
  FieldActivations field;

  std::int64_t count() const { return static_cast<std::int64_t>(ids.size()); }
  void Clear() {
    ids.clear();
    rows.clear();
    points_m.clear();
  }
  void Add(const LiveSamples& live, std::int32_t id, std::int32_t row) {
    ids.push_back(id);
    rows.push_back(row);
    const float* point = live.points_m.data() + 3 * static_cast<std::int64_t>(id);
    points_m.insert(points_m.end(), point, point + 3);
  }
};

class Sampler {
 public:
  Sampler(const RendererConfig& config, const ParticleTree& tree, const PackedField& field,
          const RenderKernels& kernels);

  const AnnularParameters& parameters() const { return parameters_; }
  /// Finds neighbours and drops the samples of empty space. `hint_slots` [rows,16] carries the
  /// neighbours from one block of a chunk to the next.
  void Gather(SampleBlock& block, std::vector<std::uint32_t>& hint_slots) const;
  /// Neighbourhoods to field outputs.
  void Evaluate(SampleBlock& block) const;
  /// Density and colour of row i, with its place on the ray.
  RaySample<float> Sample(const SampleBlock& block, const LiveSamples& live, std::int64_t i) const;

 private:
  const ParticleTree& tree_;
  const PackedField& field_;
  const RenderKernels& kernels_;
  int neighbor_count_;
  float sq_empty_radius_m2_;
  AnnularParameters parameters_;
};

}  // namespace interlacer
