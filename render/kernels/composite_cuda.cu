#include "common/kernels/launch.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kLogits = 4;

__device__ float Softplus(float x) { return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)); }
__device__ float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

/// exp(-sigma delta) of a sample.
__device__ float Passed(const CompositeInputs& in, std::int64_t s) {
  return expf(-Softplus(in.logits[kLogits * s]) * in.delta_m[s]);
}

__global__ void EmptyRuleKernel(const float* sq_dist_m2, std::int64_t m, float sq_radius_m2,
                                float* logits, PassRange pass) {
  const std::int64_t count = CountInPass(pass, m);
  for (std::int64_t s = GlobalThread(); s < count;
       s += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    if (!(sq_dist_m2[kGatherWidth * s] <= sq_radius_m2)) logits[kLogits * s] = -INFINITY;
  }
}

/// A thread a ray.
__global__ void CompositeKernel(CompositeInputs in, float* rgb, float* distance_m, float* opacity) {
  const std::int64_t ray = GlobalThread();
  if (ray >= in.ray_count) return;
  float transmittance = 1;
  float color[3] = {0, 0, 0};
  float distance = 0;
  const std::int64_t end = in.first[ray + 1];
  for (std::int64_t s = in.first[ray]; s < end && transmittance >= in.stop_transmittance; ++s) {
    const float passed = Passed(in, s);
    const float weight = transmittance * (1 - passed);
    for (int c = 0; c < 3; ++c) color[c] += weight * Sigmoid(in.logits[kLogits * s + 1 + c]);
    distance += weight * in.t_m[s];
    transmittance *= passed;
  }
  for (int c = 0; c < 3; ++c) rgb[3 * ray + c] = color[c] + transmittance;
  distance_m[ray] = distance + transmittance * in.far_m;
  opacity[ray] = 1 - transmittance;
}

/// A thread a ray: front to back for the transmittance, then back to front as CompositeBackward of
/// render/composite.h.
__global__ void CompositeBackwardKernel(CompositeInputs in, CompositeGradients grads,
                                        float* transmittances, float* logit_grad) {
  const std::int64_t ray = GlobalThread();
  if (ray >= in.ray_count) return;
  const std::int64_t begin = in.first[ray];
  const std::int64_t end = in.first[ray + 1];
  float transmittance = 1;
  for (std::int64_t s = begin; s < end; ++s) {
    transmittances[s] = transmittance;
    transmittance *= Passed(in, s);
  }
  float grad_rgb[3] = {0, 0, 0};
  if (grads.rgb != nullptr) {
    for (int c = 0; c < 3; ++c) grad_rgb[c] = grads.rgb[3 * ray + c];
  }
  const float grad_distance = grads.distance_m != nullptr ? grads.distance_m[ray] : 0;
  const float grad_opacity = grads.opacity != nullptr ? grads.opacity[ray] : 0;
  float behind = transmittance * (grad_rgb[0] + grad_rgb[1] + grad_rgb[2] +
                                  grad_distance * in.far_m - grad_opacity);
  for (std::int64_t s = end - 1; s >= begin; --s) {
    const float* logit = in.logits + kLogits * s;
    const float passed = Passed(in, s);
    const float weight = transmittances[s] * (1 - passed);
    float* const grad = logit_grad + kLogits * s;
    float value = grad_distance * in.t_m[s];
    for (int c = 0; c < 3; ++c) {
      const float color = Sigmoid(logit[1 + c]);
      value += grad_rgb[c] * color;
      grad[1 + c] = weight * grad_rgb[c] * color * (1 - color);
    }
    grad[0] = in.delta_m[s] * (transmittances[s] * passed * value - behind) * Sigmoid(logit[0]);
    behind += weight * value;
  }
}

}  // namespace

int LaunchEmptyRule(const float* sq_dist_device, std::int64_t m, float empty_radius_m,
                    float* logits_device, void* stream, const PassRange& pass) {
  return LaunchBlocks(EmptyRuleKernel, PassBlocks(BlocksFor(m, kThreads)), kThreads,
                      static_cast<cudaStream_t>(stream), sq_dist_device, m,
                      empty_radius_m * empty_radius_m, logits_device, pass);
}

int LaunchComposite(const CompositeInputs& inputs, float* rgb_device, float* distance_device,
                    float* opacity_device, void* stream) {
  return LaunchBlocks(CompositeKernel, BlocksFor(inputs.ray_count, kThreads), kThreads,
                      static_cast<cudaStream_t>(stream), inputs, rgb_device, distance_device,
                      opacity_device);
}

int LaunchCompositeBackward(const CompositeInputs& inputs, const CompositeGradients& grads,
                            float* transmittance_device, float* logit_grad_device, void* stream) {
  return LaunchBlocks(CompositeBackwardKernel, BlocksFor(inputs.ray_count, kThreads), kThreads,
                      static_cast<cudaStream_t>(stream), inputs, grads, transmittance_device,
                      logit_grad_device);
}

}  // namespace interlacer
