#pragma once

/// Annular kernels: the weight of a particle at distance d in the ring of radius rho.
///
///   w_b(d) = exp(-((d - rho_b) / beta_b)^2)      d, rho_b, beta_b in metres, w_b in (0,1]
///   mass_b = sum_i w_b(d_i)                       F_b = sum_i w_b(d_i) f_i / (mass_b + 1e-6)
/// Pure functions for float and double. Source: vpd (the form of its interpolation kernels);
/// grf-masking, App. C.3 (radii and bandwidths).

#include <cmath>

namespace interlacer {

template <typename Real>
Real AnnularWeight(Real distance_m, Real radius_m, Real bandwidth_m) {
  const Real z = (distance_m - radius_m) / bandwidth_m;
  return std::exp(-z * z);
}

/// d w_b / d distance.
template <typename Real>
Real AnnularWeightSlope(Real distance_m, Real radius_m, Real bandwidth_m) {
  const Real z = (distance_m - radius_m) / bandwidth_m;
  return Real(-2) * z / bandwidth_m * std::exp(-z * z);
}

}  // namespace interlacer
