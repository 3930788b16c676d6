#include "common/kernels/launch.h"
#include "render/kernels/annular_row.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;

/// Field inputs of samples.
/// Bound: gathers of feature rows from cache; samples along a ray share most of their neighbours.
/// Block: a warp per sample, a few warps per block, since only the warp shares memory.
/// Layout: a lane per neighbour for the weights, then a lane per channel, so that a row is read at
/// once.
__global__ void AnnularSumsKernel(const __grid_constant__ AnnularParameters p,
                                  const float* features, const std::uint32_t* slots,
                                  const float* sq_dist_m2, std::int64_t m, float* inputs,
                                  PassRange pass) {
  __shared__ AnnularRowMemory memory[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int width = p.kernel_count * (p.feature_width + 1);
  const std::int64_t count = CountInPass(pass, m);
  for (std::int64_t s = GlobalWarp(); s < count;
       s += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    float* const row = inputs + s * p.input_stride;
    AnnularRow(p, features, slots + kGatherWidth * s, sq_dist_m2 + kGatherWidth * s, memory[warp],
               [row](int column, float value) { row[column] = value; });
    for (int x = width + static_cast<int>(threadIdx.x) % kWarpLanes; x < p.input_stride;
         x += kWarpLanes) {
      row[x] = 0;
    }
  }
}

/// Backward pass of AnnularSumsKernel.
/// Bound: gathers of feature rows, and writes of a gradient row per kernel and sample.
/// Block: a warp per sample; half a warp per kernel and a lane per neighbour, because there are 16.
/// Layout: the gradient row of a kernel lies in shared memory, where all neighbours read it.
__global__ void AnnularSumsBackwardKernel(const __grid_constant__ AnnularParameters p,
                                          const float* features, const std::uint32_t* slots,
                                          const float* sq_dist_m2, const float* inputs,
                                          const float* input_grad, std::int64_t m,
                                          float* feature_grad_rows, float* entry_weights,
                                          float* entry_slopes, PassRange pass) {
  __shared__ float rows[kWarps][2][kMaxCudaFeatureWidth];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int member = lane % kGatherWidth;
  float* const row = rows[warp][lane / kGatherWidth];
  const int mass_column = p.kernel_count * p.feature_width;
  const std::int64_t count = CountInPass(pass, m);
  for (std::int64_t s = GlobalWarp(); s < count;
       s += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    const float* input = inputs + s * p.input_stride;
    const float* grad = input_grad + s * p.input_stride;
    const std::uint32_t slot = slots[kGatherWidth * s + member];
    const float distance = sqrtf(sq_dist_m2[kGatherWidth * s + member]);
    float slope = 0;
    for (int first = 0; first < p.kernel_count; first += 2) {
      const int b = first + lane / kGatherWidth;
      const bool present = b < p.kernel_count;
      const bool weighs = present && slot != kNoSlot;
      const float weight = weighs ? AnnularKernelWeight(p, b, distance) : 0;
      const float mass_inverse = 1 / (HalfWarpSum(weight) + kMassFloor);
      float along = 0;  // F_b . g_b / m_b
      for (int c = member; c < p.feature_stride && present; c += kGatherWidth) {
        const bool channel = c < p.feature_width;
        const float g = channel ? grad[b * p.feature_width + c] * mass_inverse : 0;
        if (channel) {
          row[c] = g;
          along += g * input[b * p.feature_width + c];
        }
        feature_grad_rows[(s * p.kernel_count + b) * p.feature_stride + c] = g;
      }
      along = HalfWarpSum(along);
      __syncwarp();
      if (weighs) {
        const float* f = features + static_cast<std::int64_t>(slot) * p.feature_stride;
        float weight_grad = kLogMassScale * mass_inverse * grad[mass_column + b] - along;
        for (int c = 0; c < p.feature_width; ++c) weight_grad += f[c] * row[c];
        const float curvature = -2 / (p.bandwidths_m[b] * p.bandwidths_m[b]);
        slope += weight_grad * weight * ((distance - p.radii_m[b]) * curvature);
      }
      if (present) {
        entry_weights[(kGatherWidth * s + member) * p.kernel_count + b] = weight;
      }
      __syncwarp();
    }
    slope += __shfl_xor_sync(kWholeWarp, slope, kGatherWidth);
    if (lane < kGatherWidth) {
      entry_slopes[kGatherWidth * s + member] =
          slot != kNoSlot && distance > 0 ? slope / distance : 0;
    }
  }
}

bool IsSupported(const AnnularParameters& p) {
  return p.kernel_count >= 1 && p.kernel_count <= kMaxAnnularKernels;
}

}  // namespace

CudaError LaunchAnnularSums(const AnnularParameters& parameters, const float* features_device,
                            const std::uint32_t* slots_device, const float* sq_dist_device,
                            std::int64_t m, float* inputs_device, CudaStream stream,
                            const PassRange& pass) {
  if (!IsSupported(parameters)) return cudaErrorInvalidValue;
  return LaunchBlocks(AnnularSumsKernel, PassBlocks(BlocksFor(m, kWarps)), kThreads, stream,
                      parameters, features_device, slots_device, sq_dist_device, m, inputs_device,
                      pass);
}

CudaError LaunchAnnularSumsBackward(const AnnularParameters& parameters,
                                    const float* features_device, const std::uint32_t* slots_device,
                                    const float* sq_dist_device, const float* inputs_device,
                                    const float* input_grad_device, std::int64_t m,
                                    float* feature_grad_rows_device, float* entry_weights_device,
                                    float* entry_slopes_device, CudaStream stream,
                                    const PassRange& pass) {
  if (!IsSupported(parameters) || parameters.feature_width > kMaxCudaFeatureWidth) {
    return cudaErrorInvalidValue;
  }
  return LaunchBlocks(AnnularSumsBackwardKernel, PassBlocks(BlocksFor(m, kWarps)), kThreads, stream,
                      parameters, features_device, slots_device, sq_dist_device, inputs_device,
                      input_grad_device, m, feature_grad_rows_device, entry_weights_device,
                      entry_slopes_device, pass);
}

}  // namespace interlacer
