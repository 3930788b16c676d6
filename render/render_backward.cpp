#include <algorithm>

#include "common/thread_pool.h"
#include "render/render_tape.h"

namespace interlacer {
namespace {

/// Gradients of one chunk, before they are summed over particles and weights.
struct ChunkGradients {
  PaddedFieldGradients field;
  std::vector<float> feature_rows;  ///< [m, kernels, feature_stride]
  std::vector<float> weights;       ///< [m,16,kernels]
  std::vector<float> slopes;        ///< [m,16]
};

RayGradient<float> GradientOfRay(std::int64_t r, std::span<const float> grad_rgb,
                                 std::span<const float> grad_distance,
                                 std::span<const float> grad_opacity) {
  RayGradient<float> grad;
  if (!grad_rgb.empty()) std::copy_n(grad_rgb.data() + 3 * r, 3, grad.rgb);
  if (!grad_distance.empty()) grad.distance_m = grad_distance[r];
  if (!grad_opacity.empty()) grad.opacity = grad_opacity[r];
  return grad;
}

/// Gradients of the field's logits, [m,16].
std::vector<float> LogitGradients(const PointNerfTape& tape, const TapeChunk& chunk,
                                  const Sampler& sampler, std::span<const float> grad_rgb,
                                  std::span<const float> grad_distance,
                                  std::span<const float> grad_opacity) {
  std::vector<float> logit_grad(kFieldOutputStride * chunk.block.count(), 0.f);
  const int capacity = tape.config.samples_per_ray;
  std::vector<RaySample<float>> samples(capacity);
  std::vector<SampleGradient<float>> grads(capacity);
  std::vector<float> transmittance(capacity + 1);
  for (std::int64_t r = chunk.ray_begin; r < chunk.ray_end; ++r) {
    const std::int32_t first = chunk.first_row[r - chunk.ray_begin];
    const int count = chunk.first_row[r - chunk.ray_begin + 1] - first;
    for (int s = 0; s < count; ++s) {
      samples[s] = sampler.Sample(chunk.block, chunk.live, first + s);
    }
    CompositeBackward(samples.data(), count, tape.config.far_m,
                      GradientOfRay(r, grad_rgb, grad_distance, grad_opacity), transmittance.data(),
                      grads.data());
    for (int s = 0; s < count; ++s) {
      const std::int64_t row = kFieldOutputStride * static_cast<std::int64_t>(first + s);
      // Slopes of softplus and of the sigmoid.
      logit_grad[row] = grads[s].sigma * Sigmoid(chunk.block.field.outputs[row]);
      for (int c = 0; c < 3; ++c) {
        const float color = samples[s].rgb[c];
        logit_grad[row + 1 + c] = grads[s].rgb[c] * color * (1.f - color);
      }
    }
  }
  return logit_grad;
}

/// The entries (chunk, sample, lane) that name each slot, in that order.
struct SlotEntries {
  struct Entry {
    std::uint32_t chunk;
    std::uint32_t sample_lane;  ///< sample * 16 + lane
  };
  std::vector<std::int64_t> first;
  std::vector<Entry> entries;

  explicit SlotEntries(const PointNerfTape& tape) {
    first.assign(tape.cloud->tree.particle_count() + 1, 0);
    const auto visit = [&](auto&& take) {
      for (std::uint32_t c = 0; c < tape.chunks.size(); ++c) {
        const std::vector<std::uint32_t>& slots = tape.chunks[c].block.slots;
        for (std::uint32_t i = 0; i < slots.size(); ++i) {
          if (slots[i] != kNoSlot) take(slots[i], Entry{c, i});
        }
      }
    };
    // Counting sort by slot: sizes, then begins, then entries in the order of chunks.
    visit([&](std::uint32_t slot, const Entry&) { ++first[slot + 1]; });
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    entries.resize(first.back());
    std::vector<std::int64_t> next(first.begin(), first.end() - 1);
    visit([&](std::uint32_t slot, const Entry& entry) { entries[next[slot]++] = entry; });
  }
};

void AddParticleGradients(const PointNerfTape& tape, const AnnularParameters& parameters,
                          const std::vector<ChunkGradients>& chunks, std::span<float> position_grad,
                          std::span<float> feature_grad) {
  const SlotEntries slots(tape);
  const ParticleTree& tree = tape.cloud->tree;
  const int kernels = parameters.kernel_count, stride = parameters.feature_stride;
  // A thread owns whole particles, whose entries have a fixed order: no atomics, equal bits.
  ParallelFor(tree.particle_count(), 1024, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> feature_sum(stride);
    for (std::int64_t slot = begin; slot < end; ++slot) {
      if (slots.first[slot] == slots.first[slot + 1]) continue;
      std::fill(feature_sum.begin(), feature_sum.end(), 0.f);
      float position_sum[3] = {0, 0, 0};
      const float* xyz = tree.view().leaf_xyz + 48 * (slot / 16) + slot % 16;
      for (std::int64_t e = slots.first[slot]; e < slots.first[slot + 1]; ++e) {
        const auto [c, sample_lane] = slots.entries[e];
        const std::int64_t sample = sample_lane / kGatherWidth;
        const float slope = chunks[c].slopes[sample_lane];
        const float* point = tape.chunks[c].block.points_m.data() + 3 * sample;
        for (int axis = 0; axis < 3; ++axis) {
          position_sum[axis] += slope * (xyz[16 * axis] - point[axis]);
        }
        const float* rows = chunks[c].feature_rows.data() + sample * kernels * stride;
        const float* weights =
            chunks[c].weights.data() + static_cast<std::int64_t>(sample_lane) * kernels;
        for (int b = 0; b < kernels; ++b, rows += stride) {
          for (int i = 0; i < stride; ++i) feature_sum[i] += weights[b] * rows[i];
        }
      }
      const std::int64_t original = tree.original_index()[slot];
      if (!position_grad.empty()) {
        for (int axis = 0; axis < 3; ++axis) {
          position_grad[3 * original + axis] += position_sum[axis];
        }
      }
      if (!feature_grad.empty()) {
        const int width = parameters.feature_width;
        for (int i = 0; i < width; ++i) feature_grad[original * width + i] += feature_sum[i];
      }
    }
  });
}

}  // namespace

void RunRenderBackward(const RenderKernels& kernels, const FieldWeights& field,
                       const PointNerfTape& tape, std::span<const float> grad_rgb,
                       std::span<const float> grad_distance, std::span<const float> grad_opacity,
                       std::span<float> position_grad, std::span<float> feature_grad,
                       const FieldGradients& field_grad) {
  const ParticleTree& tree = tape.cloud->tree;
  const PackedField packed(tape.config, field, kernels);
  const Sampler sampler(tape.config, tree, packed, kernels);
  const AnnularParameters& parameters = sampler.parameters();
  const bool want_particles = !position_grad.empty() || !feature_grad.empty();

  std::vector<ChunkGradients> gradients(tape.chunks.size());
  ParallelFor(static_cast<std::int64_t>(tape.chunks.size()), 1, [&](std::int64_t c, std::int64_t) {
    const TapeChunk& chunk = tape.chunks[c];
    const std::int64_t m = chunk.block.count();
    if (m == 0) return;
    const std::vector<float> logit_grad =
        LogitGradients(tape, chunk, sampler, grad_rgb, grad_distance, grad_opacity);
    ChunkGradients& g = gradients[c];
    std::vector<float> input_grad;
    packed.Backward(m, chunk.block.field, logit_grad.data(), g.field, input_grad);
    if (!want_particles) return;
    g.feature_rows.resize(m * parameters.kernel_count * parameters.feature_stride);
    g.weights.resize(m * kGatherWidth * parameters.kernel_count);
    g.slopes.resize(m * kGatherWidth);
    kernels.annular_sums_backward(parameters, tree.features(), chunk.block.slots.data(),
                                  chunk.block.sq_dist_m2.data(), chunk.block.field.inputs.data(),
                                  input_grad.data(), m, g.feature_rows.data(), g.weights.data(),
                                  g.slopes.data());
  });
  // Chunk by chunk, so that the sums are the same for any number of threads.
  for (const ChunkGradients& g : gradients) packed.Unpad(g.field, field_grad);
  if (want_particles) {
    AddParticleGradients(tape, parameters, gradients, position_grad, feature_grad);
  }
}

}  // namespace interlacer
