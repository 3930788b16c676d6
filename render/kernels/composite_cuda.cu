#include "common/kernels/launch.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kLogits = 4;
constexpr int kChannels = 4;  // of a ray: red, green, blue and distance

__device__ float Softplus(float x) { return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)); }
__device__ float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

/// exp(-sigma delta) of a sample.
__device__ float Passed(const CompositeInputs& in, std::int64_t s) {
  return expf(-Softplus(in.logits[kLogits * s]) * in.delta_m[s]);
}

/// Sets the density of samples in empty space to zero.
/// Bound: memory; one of 16 squared distances is read per sample, 64 bytes apart.
/// Block: a thread per sample, nothing shared.
/// Layout: the nearest particle is the first of a sample's 16, density the first of its 4 logits.
__global__ void EmptyRuleKernel(const float* sq_dist_m2, std::int64_t m, float sq_radius_m2,
                                float* logits, PassRange pass) {
  const std::int64_t count = CountInPass(pass, m);
  for (std::int64_t s = GlobalThread(); s < count;
       s += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    if (!(sq_dist_m2[kGatherWidth * s] <= sq_radius_m2)) logits[kLogits * s] = -INFINITY;
  }
}

/// Composites rays front to back. A lane per sample computes transmission and colour; then every
/// lane goes through the samples and adds up one of red, green, blue and distance.
/// Bound: latency of the sum along a ray; samples are read once.
/// Block: a warp per ray, because the exponentials of 32 samples are independent of each other.
/// Layout: the samples of a ray are consecutive, their values lie in shared memory.
__global__ void CompositeKernel(CompositeInputs in, float* rgb, float* distance_m, float* opacity) {
  __shared__ float passed_by[kWarps][kWarpLanes];
  __shared__ float values[kWarps][kWarpLanes][kChannels];
  const std::int64_t ray = GlobalWarp();
  if (ray >= in.ray_count) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int channel = lane % kChannels;
  float transmittance = 1;
  float sum = 0;
  const std::int64_t end = in.first[ray + 1];
  for (std::int64_t begin = in.first[ray]; begin < end && transmittance >= in.stop_transmittance;
       begin += kWarpLanes) {
    const int count = static_cast<int>(end - begin < kWarpLanes ? end - begin : kWarpLanes);
    if (lane < count) {
      const std::int64_t s = begin + lane;
      passed_by[warp][lane] = Passed(in, s);
      for (int c = 0; c < 3; ++c) values[warp][lane][c] = Sigmoid(in.logits[kLogits * s + 1 + c]);
      values[warp][lane][3] = in.t_m[s];
    }
    __syncwarp();
    for (int s = 0; s < count && transmittance >= in.stop_transmittance; ++s) {
      const float passed = passed_by[warp][s];
      const float weight = transmittance * (1 - passed);
      sum += weight * values[warp][s][channel];
      transmittance *= passed;
    }
    __syncwarp();
  }
  if (lane < 3) {
    rgb[3 * ray + lane] = sum + transmittance;
  } else if (lane == 3) {
    distance_m[ray] = sum + transmittance * in.far_m;
    opacity[ray] = 1 - transmittance;
  }
}

/// Front to back for the transmittance, then back to front as CompositeBackward of
/// render/composite.h.
/// Bound: latency of the sums along a ray, and strided reads, since the threads of a warp are at
/// different rays.
/// Block: a thread per ray, nothing shared.
/// Layout: the samples of a ray are consecutive, near to far.
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

CudaError LaunchEmptyRule(const float* sq_dist_device, std::int64_t m, float empty_radius_m,
                          float* logits_device, CudaStream stream, const PassRange& pass) {
  return LaunchBlocks(EmptyRuleKernel, PassBlocks(BlocksFor(m, kThreads)), kThreads, stream,
                      sq_dist_device, m, empty_radius_m * empty_radius_m, logits_device, pass);
}

CudaError LaunchComposite(const CompositeInputs& inputs, float* rgb_device, float* distance_device,
                          float* opacity_device, CudaStream stream) {
  return LaunchBlocks(CompositeKernel, BlocksFor(inputs.ray_count, kWarps), kThreads, stream,
                      inputs, rgb_device, distance_device, opacity_device);
}

CudaError LaunchCompositeBackward(const CompositeInputs& inputs, const CompositeGradients& grads,
                                  float* transmittance_device, float* logit_grad_device,
                                  CudaStream stream) {
  return LaunchBlocks(CompositeBackwardKernel, BlocksFor(inputs.ray_count, kThreads), kThreads,
                      stream, inputs, grads, transmittance_device, logit_grad_device);
}

}  // namespace interlacer
