#pragma once

/// CUDA kernels from the samples of rays to a picture, and their backward passes: nearest
/// particles, field inputs, dense layers, compositing. Same arrays as the CPU forms, pointers on
/// the current device.
///
/// A call may be one pass over more samples than it holds (pass_range.h): rows beyond the samples
/// that there are stay untouched. Determinism: every sum has a fixed order and none is by atomics:
/// equal calls give equal bits. Neighbours are those of the CPU form, bit by bit. Contract:
/// common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "render/kernels/annular_sums.h"
#include "render/kernels/field_mlp.h"
#include "render/kernels/gather16.h"
#include "render/kernels/pass_range.h"

namespace interlacer {

/// Widest feature row of LaunchAnnularSumsBackward and LaunchParticleGradients.
inline constexpr int kMaxCudaFeatureWidth = 64;

/// Writes slots_device [m,16] and sq_dist_device [m,16] of points_device [m,3] as GatherNearestFn
/// does; 1 <= neighbor_count <= 16. Less than 2^28 leaves.
CudaError LaunchGatherNearest(const ParticleTreeView& tree_device, int neighbor_count,
                              const float* points_device, std::int64_t m,
                              std::uint32_t* slots_device, float* sq_dist_device, CudaStream stream,
                              const PassRange& pass = {});

/// Writes inputs_device [m, input_stride] as AnnularSumsFn does. Strides need not be padded.
CudaError LaunchAnnularSums(const AnnularParameters& parameters, const float* features_device,
                            const std::uint32_t* slots_device, const float* sq_dist_device,
                            std::int64_t m, float* inputs_device, CudaStream stream,
                            const PassRange& pass = {});

/// Writes feature_grad_rows, entry_weights and entry_slopes as AnnularSumsBackwardFn does.
CudaError LaunchAnnularSumsBackward(const AnnularParameters& parameters,
                                    const float* features_device, const std::uint32_t* slots_device,
                                    const float* sq_dist_device, const float* inputs_device,
                                    const float* input_grad_device, std::int64_t m,
                                    float* feature_grad_rows_device, float* entry_weights_device,
                                    float* entry_slopes_device, CudaStream stream,
                                    const PassRange& pass = {});

/// Gradients of samples to pass on to their neighbours.
struct ParticleGradientInputs {
  std::int64_t m = 0;
  int kernel_count = 0;
  int feature_width = 0;
  const float* points_m = nullptr;           ///< [m,3]
  const std::uint32_t* slots = nullptr;      ///< [m,16]
  const float* feature_grad_rows = nullptr;  ///< [m, kernels, feature_width]
  const float* entry_weights = nullptr;      ///< [m,16,kernels]
  const float* entry_slopes = nullptr;       ///< [m,16]
};

std::size_t ParticleGradientWorkspaceBytes(std::int64_t m);

/// Adds to position_grad [n,3] and feature_grad [n, feature_width], in the order of the tree's
/// original indices; null is left out. A particle's samples are added in their order.
CudaError LaunchParticleGradients(const ParticleTreeView& tree_device,
                                  const ParticleGradientInputs& inputs_device, void* workspace,
                                  float* position_grad_device, float* feature_grad_device,
                                  CudaStream stream, const PassRange& pass = {});

/// y = x w + bias as DenseForwardFn does. Strides need not be padded.
CudaError LaunchDenseForward(const DenseLayer& layer_device, CudaStream stream,
                             const PassRange& pass = {});

std::size_t DenseWeightGradientWorkspaceBytes(int x_stride, int y_width);

/// Adds y_grad^T x and the column sums as DenseWeightGradientFn does, from partial sums over equal
/// slabs of rows.
CudaError LaunchDenseWeightGradient(const DenseWeightGradient& gradient_device, void* workspace,
                                    CudaStream stream, const PassRange& pass = {});

/// transposed [columns, rows] of matrix [rows, columns].
CudaError LaunchTranspose(const float* matrix_device, int rows, int columns,
                          float* transposed_device, CudaStream stream);

/// Density zero, a logit of minus infinity, for samples whose nearest particle is farther than the
/// radius. logits [m,4], sq_dist [m,16].
CudaError LaunchEmptyRule(const float* sq_dist_device, std::int64_t m, float empty_radius_m,
                          float* logits_device, CudaStream stream, const PassRange& pass = {});

/// Widest field that LaunchFieldBf16 supports.
inline constexpr int kMaxBf16InputWidth = 128;
inline constexpr int kMaxBf16HiddenWidth = 128;

/// Weights as radiance_field.h has them.
struct FieldWeightPointers {
  const float* w1 = nullptr;
  const float* b1 = nullptr;
  const float* w2 = nullptr;
  const float* b2 = nullptr;
  const float* w3 = nullptr;
  const float* b3 = nullptr;
};

std::size_t PackedFieldBytes(int input_width, int hidden_width);

/// Weights rounded to bfloat16 and laid out as LaunchFieldBf16 reads them.
CudaError LaunchPackField(const FieldWeightPointers& weights_device, int input_width,
                          int hidden_width, void* packed_device, CudaStream stream);

/// Neighbours to logits [m,4] in one kernel on tensor cores, empty rule included: features, annular
/// weights and the field's operands in bfloat16, all sums in float32. Slots, squared distances and
/// the packed field are on boundaries of 16 bytes, features on one of 8; they are less than 2^32.
CudaError LaunchFieldBf16(const AnnularParameters& parameters, const float* features_device,
                          const std::uint32_t* slots_device, const float* sq_dist_device,
                          std::int64_t m, const void* packed_device, int hidden_width,
                          float empty_radius_m, float* logits_device, CudaStream stream,
                          const PassRange& pass = {});

/// Samples of rays, near to far: those of ray r are [first[r], first[r + 1]).
struct CompositeInputs {
  std::int64_t ray_count = 0;
  const std::int32_t* first = nullptr;  ///< [rays + 1]
  const float* t_m = nullptr;           ///< [m]
  const float* delta_m = nullptr;       ///< [m]
  const float* logits = nullptr;        ///< [m,4]: density, then red, green, blue
  float far_m = 0;
  float stop_transmittance = 0;
};

/// Front to back on white as render/composite.h has it: rgb_device [rays,3], distance_device
/// [rays], opacity_device [rays].
CudaError LaunchComposite(const CompositeInputs& inputs_device, float* rgb_device,
                          float* distance_device, float* opacity_device, CudaStream stream);

/// Gradients of what LaunchComposite writes; null means zero.
struct CompositeGradients {
  const float* rgb = nullptr;
  const float* distance_m = nullptr;
  const float* opacity = nullptr;
};

/// Writes logit_grad [m,4] of a pass without stop; transmittance [m] is scratch.
CudaError LaunchCompositeBackward(const CompositeInputs& inputs_device,
                                  const CompositeGradients& grads, float* transmittance_device,
                                  float* logit_grad_device, CudaStream stream);

}  // namespace interlacer
