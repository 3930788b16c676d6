// What mechanisms of walks and given masks are made of, told by other mechanisms and by formulas.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <initializer_list>
#include <limits>
#include <string>

#include "model/attention/catalog/catalog.h"
#include "model/attention/masks/power_series.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Way;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Attention Made(const char* name, const nlohmann::json& options) {
  return Attention::Make(*attention::FindMechanism(name).value(), options).value();
}

struct Kernel {
  const char* name;
  double scale;
  int power;
};

/// grf-masking, Sec. 3.1: a kernel of the graph from its coefficients, for the mask itself and, by
/// deconvolution, for its features.
TEST(WalkCoefficients, AreThoseOfNamedKernels) {
  constexpr int kHops = 64;
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  const attention::Graph graph = attention::MaskGraphOf(inputs);
  for (const Kernel& kernel : std::initializer_list<Kernel>{{"diffusion", 1.5, 1},
                                                            {"regularised_laplacian", 1, 1},
                                                            {"regularised_laplacian", 1, 2},
                                                            {"p_step", 2.5, 1},
                                                            {"p_step", 2.5, 4},
                                                            {"cosine", 1, 1},
                                                            {"resolvent", 0.6, 1},
                                                            {"resolvent", 0.6, 2}}) {
    const torch::Tensor exact =
        Made("named_kernel",
             {{"kernel", kernel.name}, {"scale", kernel.scale}, {"power", kernel.power}})
            .DenseMask(inputs)
            .value()[0];
    const nlohmann::json options{{"coefficients", kernel.name},
                                 {"scale", kernel.scale},
                                 {"power", kernel.power},
                                 {"hops", kHops}};
    const Attention of_mask = Made("grf_exact", options);
    EXPECT_LT(RelativeL2(of_mask.DenseMask(inputs).value()[0], exact), kDoubleOpTolerance)
        << kernel.name;
    const torch::Tensor f = Made("grf_sym", options).InitialParameters(inputs).value().at("f");
    const torch::Tensor alpha = of_mask.InitialParameters(inputs).value().at("f");
    for (int k = 0; k <= kHops; ++k) {
      const torch::Tensor product = f[0].slice(0, 0, k + 1) * f[0].slice(0, 0, k + 1).flip(0);
      EXPECT_NEAR(product.sum().item<double>(), alpha[0][k].item<double>(), kDoubleSumTolerance)
          << kernel.name;
    }
    // The root of the cosine has no series at its zero, the eigenvalue -1 of grids.
    if (kernel.name == std::string("cosine")) continue;
    const torch::Tensor squared = attention::MakeSquaredSeriesMask(graph, f)->Dense()[0];
    EXPECT_LT(RelativeL2(squared, exact), kDoubleOpTolerance) << kernel.name;
  }
}

TEST(WalkCoefficients, OfKernelsThatAreNoneAreRefused) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  for (const Kernel& kernel : std::initializer_list<Kernel>{
           {"p_step", 1.5, 1}, {"resolvent", 1, 1}, {"diffusion", 9, 1}}) {
    const auto refused =
        Made("grf_sym", {{"coefficients", kernel.name}, {"scale", kernel.scale}}).Run(inputs);
    EXPECT_EQ(refused.status().field(), "options.scale") << kernel.name;
  }
}

/// Nothing that starts below 0 is a softplus, so that the mask would be of another kernel.
TEST(WalkCoefficients, BelowZeroAreNoSoftplus) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  for (const char* name : {"grf_sym", "grf_asym", "grf_exact"}) {
    const auto first_of = [&](const char* kernel, const char* positive) {
      return Made(name, {{"coefficients", kernel}, {"scale", 2.5}, {"positive", positive}})
          .InitialParameters(inputs);
    };
    EXPECT_EQ(first_of("cosine", "softplus").status().field(), "options.positive") << name;
    EXPECT_TRUE(first_of("cosine", "none").ok()) << name;
    // The root of 1.5 + W has the coefficient -0.068 of W^2.
    EXPECT_EQ(first_of("p_step", "softplus").ok(), std::string(name) != "grf_sym");
    for (const char* kernel : {"diffusion", "regularised_laplacian"}) {
      const torch::Tensor f = first_of(kernel, "none").value().at("f");
      const torch::Tensor before = first_of(kernel, "softplus").value().at("f");
      EXPECT_LT(RelativeL2(at::softplus(before), f), 1e-8) << name << kernel;
    }
  }
}

/// The walks of smoothing are those of grf_asym with coefficients 1.
TEST(Smoothing, IsByTheFeaturesOfWalks) {
  const AttentionInputs inputs = AllScenes({})[0].inputs;
  const nlohmann::json walks{{"walks", 6}, {"hops", 4}, {"halt_probability", 0.3}, {"seed", 5}};
  nlohmann::json of_features = walks;
  of_features["sampler"] = "iid";
  of_features["decay"] = 1;
  const torch::Tensor phi = Made("grf_asym", of_features).DenseMask(inputs).value()[0];
  const torch::Tensor mean = phi / phi.sum(1, true);
  const auto features = [&](const torch::Tensor& x) { return at::relu(x) + 1e-3; };
  const auto smoothed = [&](const torch::Tensor& x) {
    return features(x + 0.1 * at::matmul(mean, x));
  };
  const torch::Tensor a = at::matmul(smoothed(inputs.q), features(inputs.k).transpose(2, 3));
  EXPECT_LT(RelativeL2(Made("smooth_a", walks).Run(inputs).value(),
                       at::matmul(a / a.sum(3, true), inputs.v)),
            kDoubleOpTolerance);
  const torch::Tensor shared = at::matmul(phi, phi.transpose(0, 1));
  const torch::Tensor b = at::matmul(smoothed(inputs.q), smoothed(inputs.k).transpose(2, 3)) *
                          (shared / shared.sum(1, true));
  EXPECT_LT(RelativeL2(Made("smooth_b", walks).Run(inputs).value(),
                       at::matmul(b / b.sum(3, true), inputs.v)),
            kDoubleOpTolerance);
}

/// Entries that walks miss do not make softmax look away.
TEST(EstimatedMasks, HaveAFloor) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  for (const char* name : {"grf_sym", "grf_asym", "grf_adhoc", "grf_exact"}) {
    // A ring of 12: two hops reach four tokens away at most.
    const Attention plain = Made(name, {{"score", "softmax"}, {"hops", 2}});
    const Attention raised = Made(name, {{"score", "softmax"}, {"hops", 2}, {"floor", 1e-6}});
    EXPECT_EQ(raised.Ways(), std::vector<Way>{Way::kDense});
    inputs.mask = plain.DenseMask(inputs).value();
    EXPECT_EQ(inputs.mask.min().item<double>(), 0) << name;
    EXPECT_EQ(raised.DenseMask(inputs).value().min().item<double>(), 1e-6) << name;
    EXPECT_LT(RelativeL2(raised.Run(inputs).value(),
                         Made("softmax_masked", {{"floor", 1e-6}}).Run(inputs).value()),
              kDoubleOpTolerance)
        << name;
  }
}

TEST(GivenMasks, MayBeMinusInfinityInLogits) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  const torch::Tensor numbers = Normals(inputs.mask.sizes(), 50);
  const torch::Tensor is_out = Normals(inputs.mask.sizes(), 51) > 0.3;
  is_out.select(1, 4).fill_(true);
  inputs.mask = at::exp(numbers).masked_fill(is_out, 0);
  const torch::Tensor expected = Made("softmax_masked", {{"floor", 0}}).Run(inputs).value();
  inputs.mask = numbers.masked_fill(is_out, -kInfinity).requires_grad_();
  const Attention additive = Made("softmax_masked", {{"mask_into_logits", "additive"}});
  const torch::Tensor out = additive.Run(inputs).value();
  EXPECT_LT(RelativeL2(out, expected), kDoubleOpTolerance);
  EXPECT_EQ(out.select(2, 4).abs().max().item<double>(), 0);
  const torch::Tensor gradient = torch::autograd::grad({out.sum()}, {inputs.mask})[0];
  EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  EXPECT_EQ(gradient.masked_select(is_out).abs().max().item<double>(), 0);
  inputs.mask = inputs.mask.detach();
  EXPECT_EQ(Made("softmax_masked", {{"floor", 0}}).Run(inputs).status().field(), "mask");
  for (const double other : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    inputs.mask[0][0][0] = other;
    EXPECT_EQ(additive.Run(inputs).status().reason(), reason::NOT_FINITE);
  }
}

TEST(DynamicWalks, ShowTheMaskOfEveryBatch) {
  const AttentionInputs inputs = AllScenes({})[0].inputs;
  for (const char* dynamic : {"neighbors", "product"}) {
    const Attention made = Made("gkat_dynamic", {{"score", "relu"}, {"dynamic", dynamic}});
    const torch::Tensor mask = made.DenseMask(inputs).value();
    const torch::Tensor weights =
        mask * at::matmul(at::relu(inputs.q) + 1e-3, (at::relu(inputs.k) + 1e-3).transpose(2, 3));
    EXPECT_LT(
        RelativeL2(made.Run(inputs).value(), at::matmul(weights / weights.sum(3, true), inputs.v)),
        kDoubleOpTolerance);
    EXPECT_GT(RelativeL2(mask[0], mask[1]), 1e-3);
  }
}

/// Rows of features are independent, so that off its diagonal the mask has the mean of all walks.
TEST(DynamicWalks, ThatAreDrawnHaveTheMeanOfAll) {
  constexpr int kDraws = 3000;
  AttentionInputs inputs = AllScenes({})[1].inputs;
  const torch::Tensor exact = Made("gkat_dynamic", {{"score", "relu"}}).DenseMask(inputs).value();
  AttentionInputs blind = inputs;
  blind.q = at::zeros_like(inputs.q);
  const torch::Tensor uniform = Made("gkat_dynamic", {{"score", "relu"}}).DenseMask(blind).value();
  const torch::Tensor direction =
      Normals(exact.sizes(), 61) * (1 - at::eye(inputs.length(), at::kDouble));
  const auto along = [&](const torch::Tensor& mask) { return (mask * direction).sum({2, 3}); };
  torch::Tensor sum = at::zeros({2, 2}, at::kDouble), squares = sum.clone();
  for (int seed = 0; seed < kDraws; ++seed) {
    const nlohmann::json options{
        {"score", "relu"}, {"estimator", "sampled"}, {"walks", 4}, {"seed", seed}};
    const torch::Tensor drawn = along(Made("gkat_dynamic", options).DenseMask(inputs).value());
    sum += drawn;
    squares += drawn * drawn;
  }
  const torch::Tensor mean = sum / kDraws;
  const torch::Tensor error = at::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_LE(((mean - along(exact)) / error).abs().max().item<double>(), kMaxStandardErrors);
  // Hops that know nothing of queries and keys are told apart.
  EXPECT_GE(((mean - along(uniform)) / error).abs().min().item<double>(), 2 * kMaxStandardErrors);
}

/// With one neighbour each there is one walk, whoever draws it.
TEST(DynamicWalks, ThatAreDrawnAreAllWhereThereIsOne) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  inputs.graph = {at::arange(13, at::kLong), (at::arange(12, at::kLong) + 1).remainder(12), {}};
  const auto mask_of = [&](nlohmann::json options) {
    options.update({{"lambda", 0.7}, {"halt_probability", 0.1}, {"hops", 5}});
    return Made("gkat_dynamic", options).DenseMask(inputs).value();
  };
  for (const double walk_alpha : {0.0, 0.6, 1.0}) {
    const torch::Tensor all = mask_of({{"walk_alpha", walk_alpha}});
    EXPECT_LT(
        RelativeL2(mask_of({{"estimator", "sampled"}, {"walks", 3}, {"walk_alpha", walk_alpha}}),
                   all),
        kDoubleOpTolerance)
        << walk_alpha;
    // Vectors of length 1 have the product 1 with themselves.
    const bool is_one = RelativeL2(at::diagonal(all, 0, 2, 3), at::ones({2, 2, 12}, at::kDouble)) <
                        kDoubleOpTolerance;
    EXPECT_EQ(is_one, walk_alpha == 1) << walk_alpha;
  }
}

/// Lengths of rows that are a sum of all walks are in no product with it.
TEST(DynamicWalks, OfAGivenLengthAreFastWhereTheyAreDrawn) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  for (const char* dynamic : {"neighbors", "product"}) {
    const Attention all = Made("gkat_dynamic", {{"dynamic", dynamic}, {"walk_alpha", 1}});
    EXPECT_EQ(all.Ways(), std::vector<Way>{Way::kDense}) << dynamic;
    EXPECT_TRUE(all.Run(inputs).ok()) << dynamic;
  }
  const Attention drawn =
      Made("gkat_dynamic",
           {{"estimator", "sampled"}, {"walks", 6}, {"walk_alpha", 1}, {"score", "relu"}});
  EXPECT_LT(
      RelativeL2(drawn.Run(inputs, Way::kFastmult).value(), drawn.Run(inputs, Way::kDense).value()),
      kDoubleOpTolerance);
}

TEST(DynamicWalks, AreDrawnAnewEverySoManySteps) {
  AttentionInputs inputs = AllScenes({})[3].inputs;
  const auto mask_at = [&](std::int64_t step, nlohmann::json options) {
    options.update({{"estimator", "sampled"}, {"walks", 4}, {"redraw_every", 3}});
    inputs.step = step;
    return Made("gkat_dynamic", options).DenseMask(inputs).value();
  };
  const nlohmann::json none = nlohmann::json::object(), by_head{{"walks_per_head", true}};
  EXPECT_TRUE(AreEqual(mask_at(3, none), mask_at(5, none)));
  EXPECT_GT(RelativeL2(mask_at(2, none), mask_at(3, none)), 1e-3);
  EXPECT_GT(RelativeL2(mask_at(3, {{"ensemble", 1}}), mask_at(3, none)), 1e-3);
  // Head 0 has the walks that all heads share.
  EXPECT_TRUE(AreEqual(mask_at(3, by_head).select(1, 0), mask_at(3, none).select(1, 0)));
  inputs.q = inputs.q.select(1, 0).unsqueeze(1).repeat({1, 2, 1, 1});
  inputs.k = inputs.k.select(1, 0).unsqueeze(1).repeat({1, 2, 1, 1});
  EXPECT_TRUE(AreEqual(mask_at(3, none).select(1, 0), mask_at(3, none).select(1, 1)));
  EXPECT_FALSE(AreEqual(mask_at(3, by_head).select(1, 0), mask_at(3, by_head).select(1, 1)));
}

}  // namespace
}  // namespace interlacer::testing
