#pragma once

/// Output heads of the dynamics network in one launch, from the last rows to the next cloud; CUDA
/// only.
///
///   h [n,width] float32; y = LN_last(h)
///   next position = position + max_displacement tanh(W_p LN_p(y) + b_p)          [n,3], metres
///   next feature  = feature + W_f LN_f(y) + b_f                                  [n,feature_width]
/// With a gate both changes are multiplied by sigmoid(w_g LN_p(y) + b_g). Displacements shorter
/// than `min_displacement_m` are left out, and the position keeps its bits. Row r belongs to
/// particle particle_at[r], or r where that is null; clouds are indexed by particle, and the next
/// cloud may overwrite this one. All in float32; width is 64, 128 or 256. NaN stays with its
/// particle. Determinism: rows do not mix, every sum has a fixed order. Contract:
/// common/kernels/cuda.h. Source: grf-masking, App. C.3 (0.25 m, scaled tanh).

#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/fused_dense.h"

namespace interlacer {

struct DynamicsHeadLayers {
  RowNorm last_norm;
  RowNorm position_norm;
  const float* position_weight = nullptr;  ///< [3,width]
  const float* position_bias = nullptr;
  RowNorm feature_norm;
  const float* feature_weight = nullptr;  ///< [feature_width,width]
  const float* feature_bias = nullptr;
  int feature_width = 0;
  float max_displacement_m = 0;
  float min_displacement_m = 0;
  const float* gate_weight = nullptr;  ///< [width]; null without a gate
  const float* gate_bias = nullptr;    ///< [1]
};

struct DynamicsHeadClouds {
  const std::int64_t* particle_at = nullptr;
  const float* positions_m = nullptr;
  const float* features = nullptr;
  float* next_positions_m = nullptr;
  float* next_features = nullptr;
};

bool FitsDynamicsHead(int width);

CudaError LaunchDynamicsHead(std::int64_t n, int width, const DynamicsHeadLayers& layers,
                             const float* h, const DynamicsHeadClouds& clouds, CudaStream stream);

}  // namespace interlacer
