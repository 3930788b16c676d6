/// Body of annular_sums.h; the including file sets INTERLACER_KERNEL_NAMESPACE. No include guard on
/// purpose. Bound: exponentials of the weights, and loads of feature rows from cache. Layout: 16
/// neighbours are the lanes of the weights, then 16 channels the lanes of the sums.

#include "render/kernels/annular_sums.h"
#include "render/kernels/simd16.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

int PresentCount(const std::uint32_t* slots) {
  int count = 0;
  while (count < 16 && slots[count] != 0xffffffffu) ++count;
  return count;
}

/// w_b of the 16 neighbours; an absent one, at infinite distance, weighs 0.
INTERLACER_LANES F16 Weights(const AnnularParameters& p, int b, F16 distance) {
  const F16 z = (distance - p.radii_m[b]) / p.bandwidths_m[b];
  return Exp16(Minus(0.f, z * z));
}

void StoreFeatures(const AnnularParameters& p, F16 value, int b, int block, float* inputs) {
  float* target = inputs + b * p.feature_width + block;
  if (p.feature_width - block >= 16) {
    Store16(target, value);
    return;
  }
  float lane[16];
  Store16(lane, value);
  for (int i = 0; i < p.feature_width - block; ++i) target[i] = lane[i];
}

/// Row b, block of 16 channels, of a [kernels, feature_width] array, zero beyond the width.
F16 LoadFeatures(const AnnularParameters& p, const float* row, int b, int block) {
  const float* source = row + b * p.feature_width + block;
  if (p.feature_width - block >= 16) return Load16(source);
  float lane[16] = {};
  for (int i = 0; i < p.feature_width - block; ++i) lane[i] = source[i];
  return Load16(lane);
}

}  // namespace

void AnnularSums(const AnnularParameters& p, const float* features, const std::uint32_t* slots,
                 const float* sq_dist_m2, std::int64_t m, float* inputs) {
  const int mass_column = p.kernel_count * p.feature_width;
  for (std::int64_t s = 0; s < m; ++s) {
    const std::uint32_t* slot = slots + 16 * s;
    const int present = PresentCount(slot);
    float* row = inputs + p.input_stride * s;
    for (int i = 0; i < p.input_stride; i += 16) Store16(row + i, Zero16());
    const F16 distance = Sqrt16(Load16(sq_dist_m2 + 16 * s));
    float weight[kMaxAnnularKernels][16];
    float mass[16];
    Store16(mass, Zero16());
    for (int b = 0; b < p.kernel_count; ++b) {
      const F16 w = Weights(p, b, distance);
      Store16(weight[b], w);
      mass[b] = SumLanes(w);
    }
    for (int block = 0; block < p.feature_width; block += 16) {
      // Four kernels at a time share the loads of the feature rows.
      for (int b = 0; b < p.kernel_count; b += 4) {
        const int b1 = b + 1 < p.kernel_count ? b + 1 : b, b2 = b + 2 < p.kernel_count ? b + 2 : b,
                  b3 = b + 3 < p.kernel_count ? b + 3 : b;
        F16 sum0 = Zero16(), sum1 = Zero16(), sum2 = Zero16(), sum3 = Zero16();
        for (int i = 0; i < present; ++i) {
          const F16 f =
              Load16(features + static_cast<std::int64_t>(slot[i]) * p.feature_stride + block);
          sum0 += f * weight[b][i];
          sum1 += f * weight[b1][i];
          sum2 += f * weight[b2][i];
          sum3 += f * weight[b3][i];
        }
        StoreFeatures(p, sum0 * (1.f / (mass[b] + kMassFloor)), b, block, row);
        if (b + 1 < p.kernel_count) {
          StoreFeatures(p, sum1 * (1.f / (mass[b1] + kMassFloor)), b1, block, row);
        }
        if (b + 2 < p.kernel_count) {
          StoreFeatures(p, sum2 * (1.f / (mass[b2] + kMassFloor)), b2, block, row);
        }
        if (b + 3 < p.kernel_count) {
          StoreFeatures(p, sum3 * (1.f / (mass[b3] + kMassFloor)), b3, block, row);
        }
      }
    }
    float log_mass[16];
    Store16(log_mass, Log16(Load16(mass) + kMassFloor) * kLogMassScale);
    for (int b = 0; b < p.kernel_count; ++b) row[mass_column + b] = log_mass[b];
  }
}

// With m_b = mass_b + 1e-6 and g_b = dL/dF_b:
//   dL/df_i  = sum_b w_bi g_b / m_b
//   dL/dw_bi = (f_i - F_b) . g_b / m_b + 0.1 dL/dlog_b / m_b
//   dL/dd_i  = sum_b dL/dw_bi * w_bi * (-2)(d_i - rho_b)/beta_b^2
void AnnularSumsBackward(const AnnularParameters& p, const float* features,
                         const std::uint32_t* slots, const float* sq_dist_m2, const float* inputs,
                         const float* input_grad, std::int64_t m, float* feature_grad_rows,
                         float* entry_weights, float* entry_slopes) {
  const int mass_column = p.kernel_count * p.feature_width;
  for (std::int64_t s = 0; s < m; ++s) {
    const std::uint32_t* slot = slots + 16 * s;
    const int present = PresentCount(slot);
    const float* input = inputs + p.input_stride * s;
    const float* grad = input_grad + p.input_stride * s;
    float* grad_rows = feature_grad_rows + p.kernel_count * p.feature_stride * s;
    const F16 distance = Sqrt16(Load16(sq_dist_m2 + 16 * s));
    F16 slope = Zero16();
    for (int b = 0; b < p.kernel_count; ++b) {
      const F16 w = Weights(p, b, distance);
      const float mass_inverse = 1.f / (SumLanes(w) + kMassFloor);
      float* grad_row = grad_rows + b * p.feature_stride;
      F16 along = Zero16();  // F_b . g_b / m_b, lane by lane
      for (int block = 0; block < p.feature_stride; block += 16) {
        const F16 g = LoadFeatures(p, grad, b, block) * mass_inverse;
        Store16(grad_row + block, g);
        along += g * LoadFeatures(p, input, b, block);
      }
      const float offset = kLogMassScale * mass_inverse * grad[mass_column + b] - SumLanes(along);
      float weight_grad[16] = {};
      float weight[16];
      Store16(weight, w);
      for (int i = 0; i < present; ++i) {
        const float* f = features + static_cast<std::int64_t>(slot[i]) * p.feature_stride;
        F16 dot = Zero16();
        for (int block = 0; block < p.feature_stride; block += 16) {
          dot += Load16(f + block) * Load16(grad_row + block);
        }
        weight_grad[i] = SumLanes(dot) + offset;
      }
      for (int i = 0; i < 16; ++i) {
        entry_weights[(16 * s + i) * p.kernel_count + b] = i < present ? weight[i] : 0.f;
      }
      const float curvature = -2.f / (p.bandwidths_m[b] * p.bandwidths_m[b]);
      slope += Load16(weight_grad) * w * ((distance - p.radii_m[b]) * curvature);
    }
    float lane[16], length[16];
    Store16(lane, slope);
    Store16(length, distance);
    for (int i = 0; i < 16; ++i) {
      entry_slopes[16 * s + i] = i < present && length[i] > 0 ? lane[i] / length[i] : 0.f;
    }
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
