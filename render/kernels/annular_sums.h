#pragma once

/// Kernel: field inputs of sample points from their nearest particles, and the backward pass.
///
/// Row of inputs [input_stride]: F_b [feature_width] kernel by kernel, log(mass_b + 1e-6)/10 of
/// every kernel, zeros up to the stride (a multiple of 16). Formulas: render/annular_kernels.h.
/// Raw pointers, allocates nothing.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

inline constexpr int kMaxAnnularKernels = 8;
/// Added to a mass before a division or a logarithm.
inline constexpr float kMassFloor = 1e-6f;
/// Scale of the logarithm of a mass in the field's input.
inline constexpr float kLogMassScale = 0.1f;

struct AnnularParameters {
  int kernel_count = 0;
  int feature_width = 0;
  int feature_stride = 0;  ///< of the feature rows, a multiple of 16
  int input_stride = 0;
  float radii_m[kMaxAnnularKernels] = {};
  float bandwidths_m[kMaxAnnularKernels] = {};
};

/// `features` [slots, feature_stride], zero padded; `slots`, `sq_dist_m2` [m,16] of GatherNearest.
/// Writes `inputs` [m, input_stride].
using AnnularSumsFn = void (*)(const AnnularParameters& parameters, const float* features,
                               const std::uint32_t* slots, const float* sq_dist_m2, std::int64_t m,
                               float* inputs);

/// From `inputs` and their gradient `input_grad` [m, input_stride] writes
///   feature_grad_rows [m, kernels, feature_stride]  gradient of F_b over (mass_b + 1e-6)
///   entry_weights [m,16,kernels]                    w_b of every neighbour, 0 where absent
///   entry_slopes [m,16]                             dL/d distance over distance, 0 at distance 0
/// so that particle i gains sum_b w_b * feature_grad_rows[b] in its feature and
/// slope * (x_i - p) in its position from every sample that has it as a neighbour.
using AnnularSumsBackwardFn = void (*)(const AnnularParameters& parameters, const float* features,
                                       const std::uint32_t* slots, const float* sq_dist_m2,
                                       const float* inputs, const float* input_grad, std::int64_t m,
                                       float* feature_grad_rows, float* entry_weights,
                                       float* entry_slopes);

INTERLACER_FOR_INSTRUCTION_SETS(
    void AnnularSums(const AnnularParameters& parameters, const float* features,
                     const std::uint32_t* slots, const float* sq_dist_m2, std::int64_t m,
                     float* inputs);
    void AnnularSumsBackward(const AnnularParameters& parameters, const float* features,
                             const std::uint32_t* slots, const float* sq_dist_m2,
                             const float* inputs, const float* input_grad, std::int64_t m,
                             float* feature_grad_rows, float* entry_weights, float* entry_slopes);)

}  // namespace interlacer
