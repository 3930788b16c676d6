#include "render/reference_renderer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "render/annular_kernels.h"
#include "render/kernels/annular_sums.h"
#include "render/rays.h"

namespace interlacer {
namespace {

/// y = w x + b, [out,in] times [in].
std::vector<double> Affine(const std::vector<double>& w, const std::vector<double>& b,
                           const std::vector<double>& x) {
  std::vector<double> y = b;
  for (std::size_t o = 0; o < y.size(); ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
  }
  return y;
}

std::vector<double> Relu(std::vector<double> x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

/// Adds the gradients of Affine; returns dL/dx.
std::vector<double> AffineBackward(const std::vector<double>& w, const std::vector<double>& x,
                                   const std::vector<double>& y_grad, std::vector<double>& w_grad,
                                   std::vector<double>& b_grad) {
  std::vector<double> x_grad(x.size(), 0.0);
  for (std::size_t o = 0; o < y_grad.size(); ++o) {
    b_grad[o] += y_grad[o];
    for (std::size_t i = 0; i < x.size(); ++i) {
      w_grad[o * x.size() + i] += y_grad[o] * x[i];
      x_grad[i] += y_grad[o] * w[o * x.size() + i];
    }
  }
  return x_grad;
}

void MaskByRelu(const std::vector<double>& activation, std::vector<double>& grad) {
  for (std::size_t i = 0; i < grad.size(); ++i) {
    if (!(activation[i] > 0)) grad[i] = 0;
  }
}

/// One sample with everything its gradient needs.
struct Evaluation {
  bool empty = true;
  float point_m[3] = {0, 0, 0};
  std::vector<std::int64_t> neighbors;
  std::vector<double> distances_m;
  std::vector<double> inputs, hidden1, hidden2, logits;
  RaySample<double> sample;
};

void FindNeighbors(const ReferenceScene& scene, Evaluation& e) {
  const std::vector<float>& x = scene.selection_positions_m;
  const std::int64_t n = static_cast<std::int64_t>(x.size() / 3);
  std::vector<float> sq_dist(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const float dx = x[3 * i] - e.point_m[0], dy = x[3 * i + 1] - e.point_m[1],
                dz = x[3 * i + 2] - e.point_m[2];
    sq_dist[i] = dx * dx + dy * dy + dz * dz;
  }
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::int64_t k = std::min<std::int64_t>(scene.config.neighbor_count, n);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return sq_dist[a] != sq_dist[b] ? sq_dist[a] < sq_dist[b] : a < b;
                    });
  const float r = scene.config.empty_radius_m;
  e.empty = n == 0 || !(sq_dist[order[0]] <= r * r);
  e.neighbors.assign(order.begin(), order.begin() + k);
  for (const std::int64_t i : e.neighbors) {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double d = scene.positions_m[3 * i + axis] - static_cast<double>(e.point_m[axis]);
      sum += d * d;
    }
    e.distances_m.push_back(std::sqrt(sum));
  }
}

/// Mass of kernel b plus the floor.
double FlooredMass(const RendererConfig& c, const Evaluation& e, int b) {
  double mass = kMassFloor;
  for (const double d : e.distances_m) {
    mass += AnnularWeight<double>(d, c.kernel_radii_m[b], c.kernel_bandwidths_m[b]);
  }
  return mass;
}

Evaluation Evaluate(const ReferenceScene& scene, const RayBatch& rays, std::int64_t r, int s) {
  const RendererConfig& c = scene.config;
  const auto distance = [&](int sample) {
    if (sample == c.samples_per_ray) return c.far_m;
    return SampleDistance(c, sample,
                          rays.jitter.empty() ? 0.5f : rays.jitter[r * c.samples_per_ray + sample]);
  };
  Evaluation e;
  const float t_m = distance(s);
  e.sample.t_m = t_m;
  e.sample.delta_m = distance(s + 1) - t_m;
  for (int axis = 0; axis < 3; ++axis) {
    e.point_m[axis] = rays.origins_m[3 * r + axis] + t_m * rays.directions[3 * r + axis];
  }
  FindNeighbors(scene, e);
  if (e.empty) return e;

  const int kernels = static_cast<int>(c.kernel_radii_m.size()), width = c.feature_width;
  e.inputs.assign(FieldInputWidth(c), 0.0);
  for (int b = 0; b < kernels; ++b) {
    const double mass = FlooredMass(c, e, b);
    for (std::size_t i = 0; i < e.neighbors.size(); ++i) {
      const double w =
          AnnularWeight<double>(e.distances_m[i], c.kernel_radii_m[b], c.kernel_bandwidths_m[b]);
      for (int f = 0; f < width; ++f) {
        e.inputs[b * width + f] += w * scene.features[e.neighbors[i] * width + f] / mass;
      }
    }
    e.inputs[kernels * width + b] = kLogMassScale * std::log(mass);
  }
  e.hidden1 = Relu(Affine(scene.field.w1, scene.field.b1, e.inputs));
  e.hidden2 = Relu(Affine(scene.field.w2, scene.field.b2, e.hidden1));
  e.logits = Affine(scene.field.w3, scene.field.b3, e.hidden2);
  e.sample.sigma = Softplus(e.logits[0]);
  for (int k = 0; k < 3; ++k) e.sample.rgb[k] = Sigmoid(e.logits[1 + k]);
  return e;
}

/// Backward pass from dL/dinputs to features and positions.
void NeighborhoodBackward(const ReferenceScene& scene, const Evaluation& e,
                          const std::vector<double>& input_grad, ReferenceGradients& out) {
  const RendererConfig& c = scene.config;
  const int kernels = static_cast<int>(c.kernel_radii_m.size()), width = c.feature_width;
  for (int b = 0; b < kernels; ++b) {
    const double radius = c.kernel_radii_m[b], bandwidth = c.kernel_bandwidths_m[b];
    const double mass = FlooredMass(c, e, b);
    for (std::size_t i = 0; i < e.neighbors.size(); ++i) {
      const std::int64_t particle = e.neighbors[i];
      const double d = e.distances_m[i];
      const double w = AnnularWeight(d, radius, bandwidth);
      double weight_grad = kLogMassScale * input_grad[kernels * width + b] / mass;
      for (int f = 0; f < width; ++f) {
        const double g = input_grad[b * width + f] / mass;
        weight_grad += g * (scene.features[particle * width + f] - e.inputs[b * width + f]);
        out.features[particle * width + f] += w * g;
      }
      if (d == 0) continue;
      const double slope = weight_grad * AnnularWeightSlope(d, radius, bandwidth) / d;
      for (int axis = 0; axis < 3; ++axis) {
        out.positions_m[3 * particle + axis] +=
            slope * (scene.positions_m[3 * particle + axis] - static_cast<double>(e.point_m[axis]));
      }
    }
  }
}

}  // namespace

ReferenceScene MakeReferenceScene(const RendererConfig& config, std::span<const float> positions_m,
                                  std::span<const float> features, const FieldWeights& field) {
  const auto wide = [](std::span<const float> v) {
    return std::vector<double>(v.begin(), v.end());
  };
  return {config,
          std::vector<float>(positions_m.begin(), positions_m.end()),
          wide(positions_m),
          wide(features),
          {wide(field.w1), wide(field.b1), wide(field.w2), wide(field.b2), wide(field.w3),
           wide(field.b3)}};
}

ReferenceGradients MakeZeroGradients(const ReferenceScene& scene) {
  const auto zeros = [](const std::vector<double>& v) {
    return std::vector<double>(v.size(), 0.0);
  };
  const ReferenceField& f = scene.field;
  return {zeros(scene.positions_m),
          zeros(scene.features),
          {zeros(f.w1), zeros(f.b1), zeros(f.w2), zeros(f.b2), zeros(f.w3), zeros(f.b3)}};
}

RayState<double> RenderReferenceRay(const ReferenceScene& scene, const RayBatch& rays,
                                    std::int64_t r, double stop_transmittance) {
  RayState<double> ray;
  for (int s = 0; s < scene.config.samples_per_ray; ++s) {
    if (ray.transmittance < stop_transmittance) break;
    CompositeSample(Evaluate(scene, rays, r, s).sample, ray);
  }
  CompositeBackground(static_cast<double>(scene.config.far_m), ray);
  return ray;
}

void RenderReferenceRayBackward(const ReferenceScene& scene, const RayBatch& rays, std::int64_t r,
                                const RayGradient<double>& grad, ReferenceGradients& out) {
  const int count = scene.config.samples_per_ray;
  std::vector<Evaluation> evaluations;
  std::vector<RaySample<double>> samples;
  for (int s = 0; s < count; ++s) {
    evaluations.push_back(Evaluate(scene, rays, r, s));
    samples.push_back(evaluations.back().sample);
  }
  std::vector<double> transmittance(count + 1);
  std::vector<SampleGradient<double>> sample_grads(count);
  CompositeBackward(samples.data(), count, static_cast<double>(scene.config.far_m), grad,
                    transmittance.data(), sample_grads.data());
  for (int s = 0; s < count; ++s) {
    const Evaluation& e = evaluations[s];
    if (e.empty) continue;
    std::vector<double> logit_grad{sample_grads[s].sigma * Sigmoid(e.logits[0])};
    for (int k = 0; k < 3; ++k) {
      logit_grad.push_back(sample_grads[s].rgb[k] * e.sample.rgb[k] * (1 - e.sample.rgb[k]));
    }
    std::vector<double> hidden2_grad =
        AffineBackward(scene.field.w3, e.hidden2, logit_grad, out.field.w3, out.field.b3);
    MaskByRelu(e.hidden2, hidden2_grad);
    std::vector<double> hidden1_grad =
        AffineBackward(scene.field.w2, e.hidden1, hidden2_grad, out.field.w2, out.field.b2);
    MaskByRelu(e.hidden1, hidden1_grad);
    NeighborhoodBackward(
        scene, e,
        AffineBackward(scene.field.w1, e.inputs, hidden1_grad, out.field.w1, out.field.b1), out);
  }
}

}  // namespace interlacer
