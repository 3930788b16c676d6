#include "bench/peers/eager_renderer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "render/kernels/annular_sums.h"
#include "render/rays.h"

namespace interlacer::bench {

at::Tensor SampleDistances(const RendererConfig& config, std::int64_t ray_count,
                           const at::Tensor& jitter) {
  const int samples = config.samples_per_ray;
  const at::Tensor offsets = jitter.defined() ? jitter.contiguous() : at::Tensor();
  std::vector<float> distances_m(ray_count * samples);
  for (std::int64_t i = 0; i < std::ssize(distances_m); ++i) {
    const float offset = offsets.defined() ? offsets.const_data_ptr<float>()[i] : 0.5f;
    distances_m[i] = SampleDistance(config, static_cast<int>(i % samples), offset);
  }
  return at::tensor(distances_m, at::kFloat).view({ray_count, samples});
}

at::Tensor SamplePoints(const EagerRays& rays) {
  return rays.origins_m.unsqueeze(1) + rays.distances_m.unsqueeze(2) * rays.directions.unsqueeze(1);
}

at::Tensor EagerRender(const RendererConfig& config, const at::Tensor& positions_m,
                       const at::Tensor& features, const EagerField& field, const EagerRays& rays,
                       const at::Tensor& neighbors) {
  const std::int64_t ray_count = neighbors.size(0), samples = neighbors.size(1),
                     k = neighbors.size(2), kernels = std::ssize(config.kernel_radii_m);
  const auto options = positions_m.options().requires_grad(false);
  const at::Tensor index = neighbors.flatten();
  const at::Tensor points = SamplePoints(rays).reshape({-1, 1, 3});
  const at::Tensor near_m = positions_m.index_select(0, index).view({-1, k, 3});
  const at::Tensor distance_m = (points - near_m).square().sum(2).clamp_min(1e-20).sqrt();

  const at::Tensor radii = at::tensor(config.kernel_radii_m, options);
  const at::Tensor bandwidths = at::tensor(config.kernel_bandwidths_m, options);
  const at::Tensor weights = at::exp(
      -((distance_m.unsqueeze(1) - radii.view({1, kernels, 1})) / bandwidths.view({1, kernels, 1}))
           .square());                           // [m,kernels,k]
  const at::Tensor mass = weights.sum(2, true);  // [m,kernels,1]
  const at::Tensor near_features = features.index_select(0, index).view({-1, k, features.size(1)});
  const at::Tensor sums = at::matmul(weights, near_features) / (mass + kMassFloor);
  const at::Tensor inputs =
      at::cat({sums.flatten(1), kLogMassScale * at::log(mass.flatten(1) + kMassFloor)}, 1);
  const at::Tensor hidden =
      at::relu(at::linear(at::relu(at::linear(inputs, field[0], field[1])), field[2], field[3]));
  const at::Tensor logits =
      at::linear(hidden, field[4], field[5]).view({ray_count, samples, kFieldOutputWidth});

  const at::Tensor occupied = (distance_m.amin(1) <= config.empty_radius_m)
                                  .view({ray_count, samples})
                                  .to(positions_m.scalar_type());
  const at::Tensor sigma = at::softplus(logits.select(2, 0)) * occupied;
  const at::Tensor ends_m = at::cat(
      {rays.distances_m.narrow(1, 1, samples - 1), at::full({ray_count, 1}, config.far_m, options)},
      1);
  const at::Tensor optical_depth = (sigma * (ends_m - rays.distances_m)).cumsum(1);
  const at::Tensor after = at::exp(-optical_depth);
  const at::Tensor before =
      at::cat({at::ones({ray_count, 1}, options), after.narrow(1, 0, samples - 1)}, 1);
  const at::Tensor colors = at::sigmoid(logits.narrow(2, 1, 3));
  return ((before - after).unsqueeze(2) * colors).sum(1) +
         after.select(1, samples - 1).unsqueeze(1);
}

}  // namespace interlacer::bench
