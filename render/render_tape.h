#pragma once

/// Private to the fast renderer: its indexed cloud and the tape of a training pass.

#include <cstdint>
#include <memory>
#include <vector>

#include "render/occupancy_grid.h"
#include "render/particle_tree.h"
#include "render/ray_march.h"
#include "render/renderer.h"
#include "render/sample_block.h"

namespace interlacer {

struct IndexedCloud {
  IndexedCloud(std::span<const float> positions_m, std::span<const float> features,
               const RendererConfig& config)
      : tree(positions_m, features, config.feature_width),
        occupancy(positions_m, config.empty_radius_m) {}

  ParticleTree tree;
  OccupancyGrid occupancy;
};

/// Everything about a run of consecutive rays; chunks depend on the ray numbers alone.
struct TapeChunk {
  std::int64_t ray_begin = 0;
  std::int64_t ray_end = 0;
  LiveSamples live;
  SampleBlock block;
  /// [rays + 1] first row of `block` of every ray.
  std::vector<std::int32_t> first_row;
};

class PointNerfTape : public RenderTape {
 public:
  RendererConfig config;
  std::shared_ptr<const IndexedCloud> cloud;
  std::int64_t ray_count = 0;
  std::vector<TapeChunk> chunks;
};

inline constexpr std::int64_t kTrainingChunkRays = 32;

/// Adds the gradients of `tape`; arguments are checked by the caller.
void RunRenderBackward(const RenderKernels& kernels, const FieldWeights& field,
                       const PointNerfTape& tape, std::span<const float> grad_rgb,
                       std::span<const float> grad_distance, std::span<const float> grad_opacity,
                       std::span<float> position_grad, std::span<float> feature_grad,
                       const FieldGradients& field_grad);

}  // namespace interlacer
