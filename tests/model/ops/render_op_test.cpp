/// The render operation against a dense float64 renderer in eager torch: values and gradients.

#include "model/ops/render_op.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "tests/model/gradient_check.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr double kMassFloorValue = 1e-6;
constexpr int kParticles = 150;
constexpr int kRays = 12;

RendererConfig TestRenderer() {
  RendererConfig config = TinyConfig().renderer;
  config.near_m = 0.2f;
  config.far_m = 1.6f;
  return config;
}

struct RenderInputs {
  CloudTensors cloud;
  FieldTensors field;
  torch::Tensor origins, directions, jitter;
};

/// Rays from a metre above a sheet, the last one into the empty sky.
RenderInputs MakeInputs(const RendererConfig& config) {
  at::manual_seed(3);
  RenderInputs in;
  in.cloud = {ToPositions(SheetCloud(kParticles, 4)), at::randn({kParticles, 16})};
  const int input_width = FieldInputWidth(config), hidden = config.hidden_width;
  const std::vector<std::vector<std::int64_t>> shapes{
      {hidden, input_width}, {hidden}, {hidden, hidden}, {hidden}, {4, hidden}, {4}};
  for (std::size_t i = 0; i < shapes.size(); ++i) in.field[i] = 0.3 * at::randn(shapes[i]);
  in.origins = at::tensor({0.f, 0.f, 1.f}).reshape({1, 3}).repeat({kRays, 1});
  const torch::Tensor spread = 0.5 * (at::rand({kRays, 2}) - 0.5);
  in.directions = at::cat({spread, -at::ones({kRays, 1})}, 1);
  in.directions[kRays - 1].neg_();
  in.directions = in.directions / in.directions.norm(2, {1}, true);
  in.jitter = at::rand({kRays, config.samples_per_ray});
  return in;
}

/// Formulas of the renderer, written densely: [rays,samples,particles] distances and all.
std::vector<torch::Tensor> DenseRender(const std::vector<torch::Tensor>& x, const RenderInputs& in,
                                       const RendererConfig& config) {
  const torch::Tensor &positions = x[0], &features = x[1];
  const torch::Tensor origins = in.origins.to(at::kDouble);
  const torch::Tensor directions = in.directions.to(at::kDouble);
  const int samples = config.samples_per_ray;
  const double near = config.near_m, far = config.far_m;
  const torch::Tensor index = at::arange(samples, at::kDouble).unsqueeze(0);
  const torch::Tensor t = near + (index + in.jitter.to(at::kDouble)) * (far - near) / samples;
  const torch::Tensor delta =
      at::cat({t.narrow(1, 1, samples - 1), at::full({t.size(0), 1}, far, at::kDouble)}, 1) - t;
  const torch::Tensor p = origins.unsqueeze(1) + t.unsqueeze(2) * directions.unsqueeze(1);
  const torch::Tensor all = (p.unsqueeze(2) - positions.unsqueeze(0).unsqueeze(0)).norm(2, {-1});
  const auto [distance, nearest] = all.topk(config.neighbor_count, 2, /*largest=*/false);
  const torch::Tensor gathered = features.index_select(0, nearest.flatten())
                                     .reshape({t.size(0), samples, config.neighbor_count, -1});
  std::vector<torch::Tensor> sums, masses;
  for (std::size_t b = 0; b < config.kernel_radii_m.size(); ++b) {
    const torch::Tensor w =
        at::exp(-((distance - config.kernel_radii_m[b]) / config.kernel_bandwidths_m[b]).square());
    const torch::Tensor mass = w.sum(2, true) + kMassFloorValue;
    sums.push_back((w.unsqueeze(3) * gathered).sum(2) / mass);
    masses.push_back(at::log(mass) / 10);
  }
  sums.insert(sums.end(), masses.begin(), masses.end());
  torch::Tensor h = at::cat(sums, 2);
  h = at::relu(at::linear(h, x[2], x[3]));
  h = at::relu(at::linear(h, x[4], x[5]));
  const torch::Tensor out = at::linear(h, x[6], x[7]);
  const torch::Tensor near_enough =
      (distance.select(2, 0) <= config.empty_radius_m).to(at::kDouble);
  const torch::Tensor sigma = at::softplus(out.select(2, 0)) * near_enough;
  const torch::Tensor color = at::sigmoid(out.narrow(2, 1, 3));
  const torch::Tensor optical = sigma * delta;
  const torch::Tensor before = optical.cumsum(1) - optical;
  const torch::Tensor weight = at::exp(-before) * (1 - at::exp(-optical));
  const torch::Tensor left = at::exp(-optical.sum(1));
  return {(weight.unsqueeze(2) * color).sum(1) + left.unsqueeze(1),
          (weight * t).sum(1) + left * far, 1 - left};
}

std::vector<torch::Tensor> Leaves(const RenderInputs& in, at::ScalarType type) {
  std::vector<torch::Tensor> leaves{in.cloud.positions_m, in.cloud.features};
  leaves.insert(leaves.end(), in.field.begin(), in.field.end());
  for (torch::Tensor& leaf : leaves) leaf = leaf.detach().to(type).clone().requires_grad_();
  return leaves;
}

RenderedRays RunOp(const std::vector<torch::Tensor>& x, const RenderInputs& in,
                   const RendererConfig& config) {
  return RenderOp({x[0], x[1]}, {x[2], x[3], x[4], x[5], x[6], x[7]}, in.origins, in.directions,
                  in.jitter, config);
}

TEST(RenderOpTest, ValuesMatchTheDenseForm) {
  const RendererConfig config = TestRenderer();
  const RenderInputs in = MakeInputs(config);
  const auto expected = DenseRender(Leaves(in, at::kDouble), in, config);
  const RenderedRays got = RunOp(Leaves(in, at::kFloat), in, config);
  EXPECT_LT(RelativeL2(got.rgb, expected[0]), kFloatStepTolerance);
  EXPECT_LT(RelativeL2(got.distance_m, expected[1]), kFloatStepTolerance);
  EXPECT_LT(RelativeL2(got.opacity, expected[2]), kFloatStepTolerance);
  EXPECT_GT(got.opacity[0].item<float>(), 0.01f);
}

TEST(RenderOpTest, GradientsMatchTheDenseForm) {
  const RendererConfig config = TestRenderer();
  const RenderInputs in = MakeInputs(config);
  const torch::Tensor probe = at::randn({kRays, 3});
  const auto exact = Leaves(in, at::kDouble);
  const auto expected_out = DenseRender(exact, in, config);
  const auto expected = torch::autograd::grad(
      {(expected_out[0] * probe).sum() + expected_out[1].sum() + expected_out[2].square().sum()},
      exact);
  const auto leaves = Leaves(in, at::kFloat);
  const RenderedRays out = RunOp(leaves, in, config);
  const auto got = torch::autograd::grad(
      {(out.rgb * probe).sum() + out.distance_m.sum() + out.opacity.square().sum()}, leaves);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(RelativeL2(got[i], expected[i]), kFloatGradientTolerance) << "input " << i;
    EXPECT_GT(expected[i].norm().item<double>(), 0) << "input " << i;
  }
}

TEST(RenderOpTest, AnEmptyRayIsWhite) {
  const RendererConfig config = TestRenderer();
  const RenderInputs in = MakeInputs(config);
  const RenderedRays out = RunOp(Leaves(in, at::kFloat), in, config);
  EXPECT_TRUE(at::equal(out.rgb[kRays - 1], at::ones({3})));
  EXPECT_EQ(out.opacity[kRays - 1].item<float>(), 0);
  EXPECT_NEAR(out.distance_m[kRays - 1].item<float>(), config.far_m, 1e-6);
}

TEST(RenderOpTest, ServingAgreesWithTraining) {
  const RendererConfig config = TestRenderer();
  const RenderInputs in = MakeInputs(config);
  const auto leaves = Leaves(in, at::kFloat);
  const torch::Tensor training = RunOp(leaves, in, config).rgb;
  const at::NoGradGuard no_grad;
  const torch::Tensor serving = RunOp(leaves, in, config).rgb;
  EXPECT_FALSE(serving.requires_grad());
  EXPECT_LT((serving - training).abs().max().item<float>(), 1e-3f);
}

}  // namespace
}  // namespace interlacer::testing
