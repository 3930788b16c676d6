#pragma once

/// Token rows of particles in one pass: feature, positional encoding, time and the robot's motion
/// nearby. The fused form of TokenEncoder's tensor operations, for inference.
///
///   out [n, feature_width + 3 + 6 octaves + times + 4 bandwidths]:
///   feature | p = (x - center) / extent | sin, cos(2^o pi p), o = 0.. | one-hot time |
///   for each bandwidth b, over robot points k with w_k = exp(-|x - y_k|^2 / 2 b^2), m = sum w_k:
///   displacement_scale sum_k w_k u_k / (m + softening), log_scale log(m + mass_floor)
/// Errors: none; the caller checks sizes. Accuracy: sine, cosine and exponential within 2e-7 where
/// |2^o p| < 2^22. Determinism: rows do not mix; equal bits for any thread count and instruction
/// set. Threads: as grf_attention.h.

#include <cstdint>

#include "common/kernels/parallel_for.h"

namespace interlacer {

struct RobotContext {
  int point_count = 0;
  const float* points_m = nullptr;       ///< y [point_count,3]
  const float* next_points_m = nullptr;  ///< y + u [point_count,3], positions at the next time
  int bandwidth_count = 0;               ///< 0: no columns for the robot
  const float* bandwidths_m = nullptr;
  float displacement_scale = 1;
  float softening = 0;
  float mass_floor = 0;
  float log_scale = 1;
};

struct TokenFeatures {
  std::int64_t n = 0;
  const float* positions_m = nullptr;  ///< [n,3]
  const float* features = nullptr;     ///< [n,feature_width]
  int feature_width = 0;
  float center_m[3] = {};
  float extent_m = 1;
  int octaves = 0;
  int time = 0;
  int times = 1;
  RobotContext robot;
};

inline int TokenFeatureWidth(const TokenFeatures& tokens) {
  return tokens.feature_width + 3 + 6 * tokens.octaves + tokens.times +
         4 * tokens.robot.bandwidth_count;
}

void WriteTokenFeatures(const TokenFeatures& tokens, float* out, ParallelForFunction parallel_for);

}  // namespace interlacer
