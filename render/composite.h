#pragma once

/// Front-to-back compositing of one ray on a white background, and its backward form.
///
///   alpha_s = 1 - exp(-sigma_s delta_s)   T_s = prod_{u<s} (1 - alpha_u)   weight_s = T_s alpha_s
///   rgb = sum weight_s c_s + T_S white    distance = sum weight_s t_s + T_S far    opacity = 1 -
///   T_S
/// sigma in 1/m, t and delta in metres. Samples of density zero may be left out. For float and
/// double; fixed order of sums. Source: nerf, eqs. 3 to 5.

#include <cmath>

namespace interlacer {

template <typename Real>
struct RaySample {
  Real sigma = 0;
  Real rgb[3] = {0, 0, 0};
  Real t_m = 0;
  Real delta_m = 0;
};

template <typename Real>
struct RayState {
  Real transmittance = 1;
  Real rgb[3] = {0, 0, 0};
  Real distance_m = 0;
};

template <typename Real>
void CompositeSample(const RaySample<Real>& sample, RayState<Real>& ray) {
  const Real passed = std::exp(-sample.sigma * sample.delta_m);
  const Real weight = ray.transmittance * (Real(1) - passed);
  for (int c = 0; c < 3; ++c) ray.rgb[c] += weight * sample.rgb[c];
  ray.distance_m += weight * sample.t_m;
  ray.transmittance *= passed;
}

/// Adds the background behind the last sample.
template <typename Real>
void CompositeBackground(Real far_m, RayState<Real>& ray) {
  for (int c = 0; c < 3; ++c) ray.rgb[c] += ray.transmittance;
  ray.distance_m += ray.transmittance * far_m;
}

template <typename Real>
struct RayGradient {
  Real rgb[3] = {0, 0, 0};
  Real distance_m = 0;
  Real opacity = 0;
};

template <typename Real>
struct SampleGradient {
  Real sigma = 0;
  Real rgb[3] = {0, 0, 0};
};

/// With v_s = g_rgb . c_s + g_distance t_s and v_end = sum g_rgb + g_distance far - g_opacity:
///   dL/dsigma_s = delta_s (T_{s+1} v_s - sum_{u>s} weight_u v_u - T_S v_end),
///   dL/dc_s = weight_s g_rgb.
/// `out` has `count` entries; `transmittance` is scratch of count + 1.
template <typename Real>
void CompositeBackward(const RaySample<Real>* samples, int count, Real far_m,
                       const RayGradient<Real>& grad, Real* transmittance,
                       SampleGradient<Real>* out) {
  transmittance[0] = 1;
  for (int s = 0; s < count; ++s) {
    transmittance[s + 1] = transmittance[s] * std::exp(-samples[s].sigma * samples[s].delta_m);
  }
  Real behind = transmittance[count] *
                (grad.rgb[0] + grad.rgb[1] + grad.rgb[2] + grad.distance_m * far_m - grad.opacity);
  for (int s = count - 1; s >= 0; --s) {
    const RaySample<Real>& sample = samples[s];
    const Real weight = transmittance[s] * (Real(1) - std::exp(-sample.sigma * sample.delta_m));
    const Real value = grad.rgb[0] * sample.rgb[0] + grad.rgb[1] * sample.rgb[1] +
                       grad.rgb[2] * sample.rgb[2] + grad.distance_m * sample.t_m;
    out[s].sigma = sample.delta_m * (transmittance[s + 1] * value - behind);
    for (int c = 0; c < 3; ++c) out[s].rgb[c] = weight * grad.rgb[c];
    behind += weight * value;
  }
}

}  // namespace interlacer
