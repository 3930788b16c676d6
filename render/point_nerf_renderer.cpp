#include "render/point_nerf_renderer.h"

#include <algorithm>

#include "common/check.h"
#include "common/thread_pool.h"
#include "render/composite.h"
#include "render/render_tape.h"
#include "render/renderer_checks.h"

namespace interlacer {
namespace {

/// Rays that share blocks of samples; neighbours in the image share neighbours in space.
constexpr std::int64_t kServingChunkRays = 64;
/// Rays of one task, so that its buffers are reused; fewer where tasks would be fewer than threads,
/// such as for the holes of a picture.
constexpr std::int64_t kServingTaskRays = 512;
constexpr std::int64_t kServingTasks = 8;
/// Samples that a ray adds to a block before its transmittance is checked again.
constexpr int kSamplesPerRound = 4;

/// Whole chunks: rays share a block with the same others in any split.
std::int64_t ServingTaskRays(std::int64_t ray_count) {
  const std::int64_t chunks = ray_count / (kServingTasks * kServingChunkRays);
  return std::clamp(chunks * kServingChunkRays, kServingChunkRays, kServingTaskRays);
}

void WriteRay(const RendererConfig& config, RayState<float>& ray, std::int64_t r,
              const RayOutputs& out) {
  CompositeBackground(config.far_m, ray);
  for (int c = 0; c < 3; ++c) out.rgb[3 * r + c] = ray.rgb[c];
  out.distance_m[r] = ray.distance_m;
  out.opacity[r] = 1.f - ray.transmittance;
}

/// Buffers of one serving task.
struct ServingWorkspace {
  LiveSamples live;
  SampleBlock block;
  std::vector<std::uint32_t> hint_slots;
  std::vector<RayState<float>> rays;
  std::vector<std::int32_t> next;  // first live sample of a ray not yet visited
};

class FastRenderer : public PointNerfRenderer {
 public:
  FastRenderer(const RendererConfig& config, const RenderKernels& kernels)
      : config_(config),
        kernels_(kernels),
        cloud_(std::make_shared<IndexedCloud>(std::span<const float>(), std::span<const float>(),
                                              config)) {
    const Status status = ValidateRendererConfig(config);
    INTERLACER_CHECK(status.ok(), status.ToString());
  }

  Status SetParticles(std::span<const float> positions_m,
                      std::span<const float> features) override {
    INTERLACER_RETURN_IF_ERROR(CheckParticles(config_, positions_m, features));
    cloud_ = std::make_shared<IndexedCloud>(positions_m, features, config_);
    return Status::Ok();
  }

  Status Render(const FieldWeights& field, const RayBatch& rays,
                const RayOutputs& out) const override {
    INTERLACER_RETURN_IF_ERROR(CheckRender(config_, field, rays, out));
    const PackedField packed(config_, field, kernels_);
    const Sampler sampler(config_, cloud_->tree, packed, kernels_);
    const std::int64_t ray_count = static_cast<std::int64_t>(rays.origins_m.size() / 3);
    ParallelFor(ray_count, ServingTaskRays(ray_count), [&](std::int64_t begin, std::int64_t end) {
      ServingWorkspace workspace;
      for (std::int64_t r = begin; r < end; r += kServingChunkRays) {
        ServeChunk(sampler, rays, r, std::min(r + kServingChunkRays, end), workspace, out);
      }
    });
    return Status::Ok();
  }

  StatusOr<std::shared_ptr<const RenderTape>> RenderForTraining(
      const FieldWeights& field, const RayBatch& rays, const RayOutputs& out) const override {
    INTERLACER_RETURN_IF_ERROR(CheckRender(config_, field, rays, out));
    const PackedField packed(config_, field, kernels_);
    const Sampler sampler(config_, cloud_->tree, packed, kernels_);
    auto tape = std::make_shared<PointNerfTape>();
    tape->config = config_;
    tape->cloud = cloud_;
    tape->ray_count = static_cast<std::int64_t>(rays.origins_m.size() / 3);
    tape->chunks.resize((tape->ray_count + kTrainingChunkRays - 1) / kTrainingChunkRays);
    ParallelFor(tape->ray_count, kTrainingChunkRays, [&](std::int64_t begin, std::int64_t end) {
      TapeChunk& chunk = tape->chunks[begin / kTrainingChunkRays];
      chunk.ray_begin = begin;
      chunk.ray_end = end;
      TrainChunk(sampler, rays, chunk, out);
    });
    return std::shared_ptr<const RenderTape>(std::move(tape));
  }

  Status RenderBackward(const FieldWeights& field, const RenderTape& tape,
                        std::span<const float> grad_rgb, std::span<const float> grad_distance,
                        std::span<const float> grad_opacity, std::span<float> position_grad,
                        std::span<float> feature_grad,
                        const FieldGradients& field_grad) const override {
    const auto* own_tape = dynamic_cast<const PointNerfTape*>(&tape);
    INTERLACER_CHECK(own_tape != nullptr, "a tape of another renderer class");
    INTERLACER_RETURN_IF_ERROR(CheckBackward(
        own_tape->config, field, own_tape->cloud->tree.particle_count(), own_tape->ray_count,
        grad_rgb, grad_distance, grad_opacity, position_grad, feature_grad, field_grad));
    RunRenderBackward(kernels_, field, *own_tape, grad_rgb, grad_distance, grad_opacity,
                      position_grad, feature_grad, field_grad);
    return Status::Ok();
  }

 private:
  const OccupancyGrid* occupancy() const {
    return config_.skip_empty_space ? &cloud_->occupancy : nullptr;
  }

  void ServeChunk(const Sampler& sampler, const RayBatch& rays, std::int64_t begin,
                  std::int64_t end, ServingWorkspace& w, const RayOutputs& out) const {
    const std::int32_t ray_count = static_cast<std::int32_t>(end - begin);
    MarchRays(config_, occupancy(), rays, begin, end, w.live);
    w.rays.assign(ray_count, RayState<float>());
    // The neighbours of the sample before bound the search of the next one of the same ray.
    w.hint_slots.assign(kGatherWidth * ray_count, kNoSlot);
    w.next.assign(w.live.first.begin(), w.live.first.end() - 1);
    while (true) {
      w.block.Clear();
      bool visited = false;
      for (std::int32_t row = 0; row < ray_count; ++row) {
        // A ray stops between rounds or within one, at the same sample either way.
        if (w.rays[row].transmittance < config_.stop_transmittance) continue;
        const std::int32_t last = std::min(w.next[row] + kSamplesPerRound, w.live.first[row + 1]);
        for (; w.next[row] < last; ++w.next[row]) {
          w.block.Add(w.live, w.next[row], row);
          visited = true;
        }
      }
      if (!visited) break;
      sampler.Gather(w.block, w.hint_slots);
      sampler.Evaluate(w.block);
      for (std::int64_t i = 0; i < w.block.count(); ++i) {
        RayState<float>& ray = w.rays[w.block.rows[i]];
        if (ray.transmittance < config_.stop_transmittance) continue;
        CompositeSample(sampler.Sample(w.block, w.live, i), ray);
      }
    }
    for (std::int32_t row = 0; row < ray_count; ++row) {
      WriteRay(config_, w.rays[row], begin + row, out);
    }
  }

  void TrainChunk(const Sampler& sampler, const RayBatch& rays, TapeChunk& chunk,
                  const RayOutputs& out) const {
    MarchRays(config_, occupancy(), rays, chunk.ray_begin, chunk.ray_end, chunk.live);
    const std::int32_t ray_count = static_cast<std::int32_t>(chunk.ray_end - chunk.ray_begin);
    for (std::int32_t row = 0; row < ray_count; ++row) {
      for (std::int32_t s = chunk.live.first[row]; s < chunk.live.first[row + 1]; ++s) {
        chunk.block.Add(chunk.live, s, row);
      }
    }
    std::vector<std::uint32_t> hint_slots(kGatherWidth * ray_count, kNoSlot);
    sampler.Gather(chunk.block, hint_slots);
    sampler.Evaluate(chunk.block);
    std::int32_t i = 0;
    for (std::int32_t row = 0; row < ray_count; ++row) {
      chunk.first_row.push_back(i);
      RayState<float> ray;
      for (; i < chunk.block.count() && chunk.block.rows[i] == row; ++i) {
        CompositeSample(sampler.Sample(chunk.block, chunk.live, i), ray);
      }
      WriteRay(config_, ray, chunk.ray_begin + row, out);
    }
    chunk.first_row.push_back(i);
  }

  RendererConfig config_;
  const RenderKernels& kernels_;
  std::shared_ptr<const IndexedCloud> cloud_;
};

}  // namespace

std::unique_ptr<PointNerfRenderer> MakePointNerfRendererWith(const RendererConfig& config,
                                                             const RenderKernels& kernels) {
  return std::make_unique<FastRenderer>(config, kernels);
}

std::unique_ptr<PointNerfRenderer> MakePointNerfRenderer(const RendererConfig& config) {
  return MakePointNerfRendererWith(config, BestRenderKernels());
}

}  // namespace interlacer
