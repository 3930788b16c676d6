#include "render/sample_block.h"

#include <algorithm>

namespace interlacer {

Sampler::Sampler(const RendererConfig& config, const ParticleTree& tree, const PackedField& field,
                 const RenderKernels& kernels)
    : tree_(tree),
      field_(field),
      kernels_(kernels),
      neighbor_count_(config.neighbor_count),
      sq_empty_radius_m2_(config.empty_radius_m * config.empty_radius_m) {
  parameters_.kernel_count = static_cast<int>(config.kernel_radii_m.size());
  parameters_.feature_width = config.feature_width;
  parameters_.feature_stride = tree.feature_stride();
  parameters_.input_stride = field.input_stride();
  std::copy(config.kernel_radii_m.begin(), config.kernel_radii_m.end(), parameters_.radii_m);
  std::copy(config.kernel_bandwidths_m.begin(), config.kernel_bandwidths_m.end(),
            parameters_.bandwidths_m);
}

void Sampler::Gather(SampleBlock& block, std::vector<std::uint32_t>& hint_slots) const {
  const std::int64_t m = block.count();
  block.slots.resize(kGatherWidth * m);
  block.sq_dist_m2.resize(kGatherWidth * m);
  kernels_.gather_nearest(tree_.view(), neighbor_count_, block.points_m.data(), block.rows.data(),
                          m, hint_slots.data(), block.slots.data(), block.sq_dist_m2.data());
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    if (!(block.sq_dist_m2[kGatherWidth * i] <= sq_empty_radius_m2_)) continue;
    if (kept != i) {
      block.ids[kept] = block.ids[i];
      block.rows[kept] = block.rows[i];
      std::copy_n(block.points_m.begin() + 3 * i, 3, block.points_m.begin() + 3 * kept);
      std::copy_n(block.slots.begin() + kGatherWidth * i, kGatherWidth,
                  block.slots.begin() + kGatherWidth * kept);
      std::copy_n(block.sq_dist_m2.begin() + kGatherWidth * i, kGatherWidth,
                  block.sq_dist_m2.begin() + kGatherWidth * kept);
    }
    ++kept;
  }
  block.ids.resize(kept);
  block.rows.resize(kept);
  block.points_m.resize(3 * kept);
  block.slots.resize(kGatherWidth * kept);
  block.sq_dist_m2.resize(kGatherWidth * kept);
}

void Sampler::Evaluate(SampleBlock& block) const {
  const std::int64_t m = block.count();
  field_.Resize(m, block.field);
  kernels_.annular_sums(parameters_, tree_.features(), block.slots.data(), block.sq_dist_m2.data(),
                        m, block.field.inputs.data());
  field_.Forward(m, block.field);
}

RaySample<float> Sampler::Sample(const SampleBlock& block, const LiveSamples& live,
                                 std::int64_t i) const {
  const float* logit = block.field.outputs.data() + kFieldOutputStride * i;
  RaySample<float> sample;
  sample.sigma = Softplus(logit[0]);
  for (int c = 0; c < 3; ++c) sample.rgb[c] = Sigmoid(logit[1 + c]);
  sample.t_m = live.t_m[block.ids[i]];
  sample.delta_m = live.delta_m[block.ids[i]];
  return sample;
}

}  // namespace interlacer
