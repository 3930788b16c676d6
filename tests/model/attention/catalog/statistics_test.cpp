// Mechanisms that estimate something: their means over draws, and what does not depend on draws.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "model/attention/core/random_features.h"
#include "model/attention/core/scores.h"
#include "model/attention/masks/fourier.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::MechanismInfo;
using attention::Way;

Attention Make(const char* name, const nlohmann::json& options) {
  return Attention::Make(*attention::FindMechanism(name).value(), options).value();
}

struct Sample {
  double mean = 0, deviation = 0;
  double StandardErrors(double expected, int count) const {
    return std::abs(mean - expected) / (deviation / std::sqrt(count));
  }
};

Sample SampleOf(int count, const std::function<double(std::uint64_t)>& draw) {
  double sum = 0, square = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draw(static_cast<std::uint64_t>(i));
    sum += x;
    square += x * x;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(square / count - mean * mean)};
}

/// phi(q) phi(k) of one pair of vectors of length 0.6 without stabiliser.
double FavorEstimate(const torch::Tensor& q, const torch::Tensor& k, std::int64_t m,
                     bool is_orthogonal, bool is_hyperbolic, std::uint64_t seed) {
  const torch::Tensor omega = attention::RandomProjection(seed, 1, is_hyperbolic ? m / 2 : m,
                                                          q.size(0), is_orthogonal, q.options())[0];
  const auto map = [&](const torch::Tensor& x) {
    const torch::Tensor along = at::matmul(omega, x);
    const torch::Tensor both = is_hyperbolic ? at::cat({along, -along}) : along;
    return at::exp(both - 0.5 * x.dot(x)) / std::sqrt(static_cast<double>(m));
  };
  return map(q).dot(map(k)).item<double>();
}

TEST(FavorFeatures, EstimateTheExponential) {
  constexpr int kDraws = 20000;
  constexpr std::int64_t kFeatures = 64;
  torch::Tensor q = Normals({8}, 1), k = Normals({8}, 2);
  q = q * (0.6 / q.norm());
  k = k * (0.6 / k.norm());
  const double exact = std::exp(q.dot(k).item<double>());
  for (const bool is_orthogonal : {false, true}) {
    for (const bool is_hyperbolic : {false, true}) {
      const Sample sample = SampleOf(kDraws, [&](std::uint64_t seed) {
        return FavorEstimate(q, k, kFeatures, is_orthogonal, is_hyperbolic, seed);
      });
      EXPECT_LE(sample.StandardErrors(exact, kDraws), kMaxStandardErrors)
          << is_orthogonal << is_hyperbolic;
      if (is_orthogonal || is_hyperbolic) continue;
      const double sum = (q + k).norm().item<double>();
      const double deviation = exact * std::sqrt((std::exp(sum * sum) - 1) / kFeatures);
      EXPECT_NEAR(sample.deviation, deviation, 0.05 * deviation);
    }
  }
}

/// The transform of a window of `radius`, cut at `band`, by the trapezoidal rule.
double BandLimitedWindow(double radius, double band, double place) {
  constexpr int kSteps = 20000;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double xi = -band + 2 * band * i / kSteps + 1e-9;
    const double value =
        std::sin(2 * M_PI * radius * xi) / (M_PI * xi) * std::cos(2 * M_PI * xi * place);
    sum += (i == 0 || i == kSteps ? 0.5 : 1) * value * 2 * band / kSteps;
  }
  return sum;
}

/// f(z) of a learned transform against its closed form, by the mean over draws of xi.
TEST(FourierFeatures, EstimateTheClosedForm) {
  constexpr int kDraws = 3000;
  constexpr double kWidth = 0.4, kCenter = 0.3, kPlace = 0.6;
  const torch::Tensor places = at::tensor({kPlace, 0.0}, at::kDouble).unsqueeze(1);
  const auto estimate = [&](const char* proposal, double extent, std::uint64_t seed,
                            const auto& g) {
    const torch::Tensor xi = attention::DrawFrequencies(proposal, extent, seed, 8, 1);
    const torch::Tensor u = g(xi.squeeze(1)) / (attention::DensityOf(proposal, extent, xi) * 8.0);
    const auto features = attention::MakeFourierFeatures(u.unsqueeze(0), {}, xi, places);
    return at::matmul(features.left[0], features.right[0].transpose(0, 1))[0][1].item<double>();
  };
  const auto mixture = [&](const torch::Tensor& xi) {
    return at::exp(-(xi - kCenter) * (xi - kCenter) / (2 * kWidth * kWidth));
  };
  const double of_mixture = std::sqrt(2 * M_PI) * kWidth *
                            std::exp(-2 * M_PI * M_PI * kWidth * kWidth * kPlace * kPlace) *
                            std::cos(2 * M_PI * kCenter * kPlace);
  const Sample normal =
      SampleOf(kDraws, [&](auto seed) { return estimate("normal", 4, seed, mixture); });
  EXPECT_LE(normal.StandardErrors(of_mixture, kDraws), kMaxStandardErrors);
  const Sample cauchy =
      SampleOf(kDraws, [&](auto seed) { return estimate("cauchy", 4, seed, mixture); });
  EXPECT_LE(cauchy.StandardErrors(of_mixture, kDraws), kMaxStandardErrors);
  // Two windows of radius 1/2 make a triangle: 2 w - |z| within 2 w.
  const auto triangle = [](const torch::Tensor& xi) {
    return attention::WindowTransform(at::tensor({0.5}, at::kDouble), xi, 2);
  };
  const Sample smooth =
      SampleOf(kDraws, [&](auto seed) { return estimate("cauchy", 4, seed, triangle); });
  EXPECT_LE(smooth.StandardErrors(1 - kPlace, kDraws), kMaxStandardErrors);
  // A window has a transform that falls like 1/xi: uniform draws in [-B,B] give the band-limited
  // one.
  constexpr double kBand = 3, kRadius = 1;
  const auto window = [&](const torch::Tensor& xi) {
    return attention::WindowTransform(at::tensor({kRadius}, at::kDouble), xi, 1);
  };
  const double limited = BandLimitedWindow(kRadius, kBand, kPlace);
  const Sample local =
      SampleOf(kDraws, [&](auto seed) { return estimate("uniform", kBand, seed, window); });
  EXPECT_LE(local.StandardErrors(limited, kDraws), kMaxStandardErrors);
}

/// f(place) - f(0) of a mechanism of learned transforms: with queries and keys of 0 it is the
/// difference of two logits.
Sample TransformAt(const char* name, const std::vector<double>& place, nlohmann::json options,
                   int draws) {
  const auto axes = static_cast<std::int64_t>(place.size());
  AttentionInputs inputs;
  inputs.q = inputs.k = at::zeros({1, 1, 2, 1}, at::kDouble);
  inputs.v = at::eye(2, at::kDouble).reshape({1, 1, 2, 2});
  inputs.positions = at::stack({at::tensor(place, at::kDouble), at::zeros({axes}, at::kDouble)});
  options["score"] = "softmax";
  options["frequencies"] = 8;
  return SampleOf(draws, [&](std::uint64_t seed) {
    options["seed"] = seed;
    const torch::Tensor weights = Make(name, options).Run(inputs, Way::kDense).value()[0][0][0];
    return std::log(weights[1].item<double>() / weights[0].item<double>());
  });
}

TEST(FourierFeatures, OfMixturesInSpaceEstimateTheirClosedForm) {
  constexpr int kDraws = 3000;
  constexpr double kWeight = 0.3, kWidth = 0.4;
  const std::vector<double> place{0.3, -0.2, 0.4};
  const double square = 0.3 * 0.3 + 0.2 * 0.2 + 0.4 * 0.4;
  double difference = 0;
  for (const double width : {kWidth, 2 * kWidth}) {
    difference += kWeight * std::pow(std::sqrt(2 * M_PI) * width, -3) *
                  (std::exp(-square / (2 * width * width)) - 1);
  }
  for (const char* proposal : {"normal", "cauchy"}) {
    const Sample sample = TransformAt(
        "flt_gauss3d", place,
        {{"terms", 2}, {"weight", kWeight}, {"width", kWidth}, {"proposal", proposal}}, kDraws);
    EXPECT_LE(sample.StandardErrors(difference, kDraws), kMaxStandardErrors) << proposal;
    EXPECT_GE(sample.StandardErrors(0, kDraws), 2 * kMaxStandardErrors) << proposal;
  }
}

/// Bochner's theorem: each kernel is the transform of a density.
TEST(FourierFeatures, OfShiftInvariantKernelsEstimateThem) {
  constexpr int kDraws = 3000;
  constexpr double kScale = 0.7;
  const std::vector<double> place{0.8, -0.5};
  const auto along = [&](const auto& f) { return f(place[0]) * f(place[1]); };
  const std::pair<const char*, double> kernels[] = {
      {"gaussian", along([](double s) { return std::exp(-s * s / 2); })},
      {"laplace", along([](double s) { return std::exp(-std::abs(s)); })},
      {"cauchy", along([](double s) { return 1 / (1 + s * s); })}};
  for (const auto& [kernel, value] : kernels) {
    for (const char* proposal : {"kernel", "cauchy"}) {
      const Sample sample =
          TransformAt("flt_shift_invariant", place,
                      {{"kernel", kernel}, {"weight", kScale}, {"proposal", proposal}}, kDraws);
      EXPECT_LE(sample.StandardErrors(kScale * (value - 1), kDraws), kMaxStandardErrors)
          << kernel << proposal;
      EXPECT_GE(sample.StandardErrors(0, kDraws), 2 * kMaxStandardErrors) << kernel << proposal;
    }
  }
}

/// By default all samples weigh alike, so that f(0), the largest, is what it should be for every
/// draw: proposals of thinner tails than the kernel's density miss half of it.
TEST(FourierFeatures, OfShiftInvariantKernelsKnowTheirLargestLogit) {
  constexpr double kWeight = 0.1;
  AttentionInputs inputs = AllScenes({})[3].inputs;
  for (const char* kernel : {"gaussian", "laplace", "cauchy"}) {
    for (const int seed : {0, 1, 2}) {
      const Attention made =
          Make("flt_shift_invariant",
               {{"kernel", kernel}, {"weight", kWeight}, {"frequencies", 256}, {"seed", seed}});
      const torch::Tensor largest = made.LargestPositionLogits(inputs).value();
      EXPECT_NEAR(largest.min().item<double>(), kWeight, kDoubleSumTolerance) << kernel;
      EXPECT_NEAR(largest.max().item<double>(), kWeight, kDoubleSumTolerance) << kernel;
    }
  }
}

/// A head's width is that of the options times what it learnt: kernels of places over both.
TEST(FourierFeatures, OfShiftInvariantKernelsHaveTheirWidths) {
  constexpr int kDraws = 2000;
  constexpr double kWeight = 0.7, kWidth = 0.5, kScale = 1.6, kPlace = 0.9;
  AttentionInputs inputs;
  inputs.q = inputs.k = at::zeros({1, 1, 2, 1}, at::kDouble);
  inputs.v = at::eye(2, at::kDouble).reshape({1, 1, 2, 2});
  inputs.positions = at::tensor({kPlace, 0.0}, at::kDouble).unsqueeze(1);
  const auto value = [](const std::string& kernel, double s) {
    if (kernel == "gaussian") return std::exp(-s * s / 2);
    return kernel == "laplace" ? std::exp(-s) : 1 / (1 + s * s);
  };
  for (const char* kernel : {"gaussian", "laplace", "cauchy"}) {
    for (const double scale : {1.0, kScale}) {
      inputs.parameters["scale"] = at::full({1}, std::log(std::expm1(scale)), at::kDouble);
      const Sample sample = SampleOf(kDraws, [&](std::uint64_t seed) {
        const nlohmann::json options{
            {"kernel", kernel},   {"weight", kWeight}, {"width", kWidth}, {"learn_width", true},
            {"score", "softmax"}, {"frequencies", 16}, {"seed", seed}};
        const torch::Tensor weights =
            Make("flt_shift_invariant", options).Run(inputs, Way::kDense).value()[0][0][0];
        return std::log(weights[1].item<double>() / weights[0].item<double>());
      });
      const double at_zero = kWeight * value(kernel, 0);
      EXPECT_LE(sample.StandardErrors(kWeight * value(kernel, kPlace / (kWidth * scale)) - at_zero,
                                      kDraws),
                kMaxStandardErrors)
          << kernel << scale;
      // Not as wide as the other.
      EXPECT_GE(
          sample.StandardErrors(
              kWeight * value(kernel, kPlace / (kWidth * (1 + kScale - scale))) - at_zero, kDraws),
          2 * kMaxStandardErrors)
          << kernel << scale;
    }
  }
}

/// Transforms of windows fall like 1 / xi: uniform draws give the band-limited ones.
TEST(FourierFeatures, OfWindowsEstimateTheirBandLimitedForms) {
  constexpr int kDraws = 3000;
  constexpr double kRadius = 0.6, kBand = 2, kWeight = 0.2;
  const nlohmann::json options{{"terms", 1},
                               {"weight", kWeight},
                               {"radius", kRadius},
                               {"extent", kBand},
                               {"proposal", "uniform"}};
  const auto window = [&](double place) { return BandLimitedWindow(kRadius, kBand, place); };
  const double at_zero = window(0);
  const std::vector<double> place{0.9, -0.4};
  const Sample line = TransformAt("flt_local", {place[0]}, options, kDraws);
  const double of_line = kWeight * (window(place[0]) - at_zero);
  EXPECT_LE(line.StandardErrors(of_line, kDraws), kMaxStandardErrors);
  EXPECT_GE(line.StandardErrors(0, kDraws), 2 * kMaxStandardErrors);
  const Sample box = TransformAt("flt_local_nd", place, options, kDraws);
  const double of_box = kWeight * (window(place[0]) * window(place[1]) - at_zero * at_zero);
  EXPECT_LE(box.StandardErrors(of_box, kDraws), kMaxStandardErrors);
  EXPECT_GE(box.StandardErrors(0, kDraws), 2 * kMaxStandardErrors);
}

/// Stochastic codes with softmax scores and one channel: logits of a pair are taps[i - j], on
/// average.
TEST(StochasticPositions, HaveTheirKernelsOnAverage) {
  constexpr int kDraws = 3000;
  AttentionInputs inputs;
  inputs.q = inputs.k = at::ones({1, 1, 6, 1}, at::kDouble);
  inputs.v = at::eye(6, at::kDouble).reshape({1, 1, 6, 6});
  // log of the ratio of two weights of a row is the difference of their logits.
  const auto difference = [&](const char* name, nlohmann::json options, std::uint64_t seed) {
    options["seed"] = seed;
    options["score"] = "softmax";
    options["realizations"] = 8;
    const torch::Tensor weights = Make(name, options).Run(inputs, Way::kDense).value()[0][0];
    return std::log(weights[3][1].item<double>()) - std::log(weights[3][5].item<double>());
  };
  const Sample taps = SampleOf(kDraws, [&](auto seed) {
    return difference("spe_conv", {{"taps", 5}}, seed);
  });
  // Offsets 2 and -2, both at half the taps from the middle.
  EXPECT_LE(taps.StandardErrors(0, kDraws), kMaxStandardErrors);
  const auto even = [&](const char* name, nlohmann::json options, std::uint64_t seed) {
    options["seed"] = seed;
    options["score"] = "softmax";
    options["realizations"] = 8;
    const torch::Tensor weights = Make(name, options).Run(inputs, Way::kDense).value()[0][0];
    return std::log(weights[3][3].item<double>()) - std::log(weights[3][2].item<double>());
  };
  const Sample near = SampleOf(kDraws, [&](auto seed) {
    return even("spe_conv", {{"taps", 5}}, seed);
  });
  EXPECT_LE(near.StandardErrors(1 - std::exp(-0.5), kDraws), kMaxStandardErrors);
  const Sample sine = SampleOf(kDraws, [&](auto seed) {
    return even("spe_sine", {{"sines", 1}}, seed);
  });
  EXPECT_LE(sine.StandardErrors(1 - std::cos(2 * M_PI * 0.1), kDraws), kMaxStandardErrors);
  const Sample gated = SampleOf(kDraws, [&](auto seed) {
    return even("spe_sine", {{"sines", 1}, {"gated", true}}, seed);
  });
  EXPECT_LE(gated.StandardErrors(0.5 * (1 - std::cos(2 * M_PI * 0.1)), kDraws), kMaxStandardErrors);
}

/// Where the sigmoid is 0 or 1 to rounding its own root has no gradient.
TEST(StochasticPositions, HaveGradientsOfGatesThatSaturate) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  for (const char* name : {"spe_conv", "spe_sine"}) {
    const Attention made = Make(name, {{"gated", true}, {"realizations", 6}});
    inputs.parameters = made.InitialParameters(inputs).value();
    for (const double start : {40.0, -40.0, 2000.0, -2000.0}) {
      torch::Tensor& gate = inputs.parameters["gate"];
      gate = at::full_like(gate, start).requires_grad_();
      for (const Way way : made.Ways()) {
        const torch::Tensor out = made.Run(inputs, way).value();
        const torch::Tensor gradient =
            torch::autograd::grad({(out * Normals(out.sizes(), 5)).sum()}, {gate})[0];
        EXPECT_TRUE(at::isfinite(gradient).all().item<bool>()) << name << start << WayName(way);
        // exp(-20) of the other noise is left, or exp(-1000).
        EXPECT_EQ(gradient.abs().max().item<double>() > 0, std::abs(start) == 40) << name << start;
      }
    }
  }
}

TEST(PositionTable, IsItsExponentialOnAverage) {
  constexpr int kDraws = 4000;
  AttentionInputs inputs;
  inputs.q = inputs.k = at::ones({1, 1, 3, 2}, at::kDouble);
  inputs.v = at::ones({1, 1, 3, 1}, at::kDouble);
  inputs.parameters = {{"p", 0.3 * Normals({1, 3, 4}, 1)}, {"s", 0.3 * Normals({1, 3, 4}, 2)}};
  const double exact =
      std::exp(inputs.parameters["p"][0][0].dot(inputs.parameters["s"][0][1]).item<double>());
  const Sample sample = SampleOf(kDraws, [&](std::uint64_t seed) {
    return Make("softmax_pos", {{"rank", 4}, {"seed", seed}, {"mask_features", 8}})
        .DenseMask(inputs)
        .value()[0][0][1]
        .item<double>();
  });
  EXPECT_LE(sample.StandardErrors(exact, kDraws), kMaxStandardErrors);
}

/// With as many columns as tokens the factorisation is exact: softmax with b[i - j] in the logits.
TEST(FactorisedPositions, AreExactAtFullRank) {
  AttentionInputs inputs = AllScenes({})[1].inputs;
  inputs.parameters["b"] = Normals({2, 5 * 7}, 4);
  const Attention made = Make("factor", {{"rank", 64}, {"score", "softmax"}});
  const torch::Tensor out = made.Run(inputs, Way::kDense).value();
  torch::Tensor bias = at::empty({2, 12, 12}, at::kDouble);
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) {
      const std::int64_t place = (i / 4 - j / 4 + 2) * 7 + (i % 4 - j % 4 + 3);
      bias.select(1, i).select(1, j).copy_(inputs.parameters["b"].select(1, place));
    }
  }
  AttentionInputs masked = inputs;
  masked.parameters.clear();
  masked.mask = bias;
  const Attention reference = Make("softmax_masked", {{"mask_into_logits", "additive"}});
  EXPECT_LT(RelativeL2(out, reference.Run(masked).value()), kDoubleOpTolerance);
  const Attention causal = Make("factor", {{"rank", 64}, {"score", "softmax"}, {"causal", true}});
  const torch::Tensor is_later = at::ones({12, 12}, at::kBool).triu(1);
  masked.mask = bias.masked_fill(is_later, -std::numeric_limits<double>::infinity());
  EXPECT_LT(RelativeL2(causal.Run(inputs).value(), reference.Run(masked).value()),
            kDoubleOpTolerance);
  // What is reported of them is what they are, of pairs that count.
  const torch::Tensor largest = at::amax(bias.abs(), {1, 2});
  EXPECT_LT(RelativeL2(made.LargestPositionLogits(inputs).value(), largest), kDoubleOpTolerance);
  const torch::Tensor earlier = at::amax(bias.abs().masked_fill(is_later, 0), {1, 2});
  EXPECT_LT(RelativeL2(causal.LargestPositionLogits(inputs).value(), earlier), kDoubleOpTolerance);
  EXPECT_GT(RelativeL2(earlier, largest), 1e-3);
}

/// Windows on a line, by the sum over samples as it is printed.
TEST(FourierFeatures, TellTheirLargestLogit) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  const Attention made =
      Make("flt_local", {{"terms", 1}, {"radius", 0.7}, {"frequencies", 5}, {"weight", 0.4}});
  inputs.parameters = made.InitialParameters(inputs).value();
  inputs.parameters["weight"] = at::tensor({0.4, -1.5}, at::kDouble).reshape({2, 1});
  const torch::Tensor& xi = inputs.parameters["xi"];
  const torch::Tensor reported = made.LargestPositionLogits(inputs).value();
  for (std::int64_t h = 0; h < 2; ++h) {
    double largest = 0;
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t j = 0; j < 12; ++j) {
        const double apart = (inputs.positions[i][0] - inputs.positions[j][0]).item<double>();
        double f = 0;
        for (std::int64_t s = 0; s < 5; ++s) {
          const double x = xi[s][0].item<double>();
          const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
          f += inputs.parameters["weight"][h][0].item<double>() * std::sin(2 * M_PI * 0.7 * x) /
               (M_PI * x) / (5 * density) * std::cos(2 * M_PI * x * apart);
        }
        largest = std::max(largest, std::abs(f));
      }
    }
    EXPECT_NEAR(reported[h].item<double>(), largest, 1e-12);
  }
  inputs.parameters.clear();
  for (const char* name : {"softmax", "spe_sine", "rwgnk"}) {
    EXPECT_FALSE(
        Make(name, nlohmann::json::object()).LargestPositionLogits(inputs).value().defined());
  }
}

/// Rows of walks of every law of lengths have the series' mean.
TEST(WalkLengths, OfAnyLawGiveTheSameMean) {
  constexpr int kDraws = 4000;
  AttentionInputs inputs = AllScenes({})[1].inputs;
  const Attention exact = Make("grf_exact", {{"hops", 4}});
  const torch::Tensor direction = Normals({12}, 3);
  for (const char* law : {"geometric", "uniform", "power"}) {
    for (const std::int64_t row : {0, 5}) {
      const double expected = exact.DenseMask(inputs).value()[0][row].dot(direction).item<double>();
      const Sample sample = SampleOf(kDraws, [&](std::uint64_t seed) {
        const nlohmann::json options{{"hops", 4},
                                     {"walks", 2},
                                     {"length_law", law},
                                     {"halt_probability", 0.3},
                                     {"seed", seed}};
        return Make("grf_asym", options)
            .DenseMask(inputs)
            .value()[0][row]
            .dot(direction)
            .item<double>();
      });
      EXPECT_LE(sample.StandardErrors(expected, kDraws), kMaxStandardErrors) << law << row;
    }
  }
}

/// Rows of sum over t of f_t (keep P)^t, P the hop probabilities of an undirected graph without
/// weights, times a vector; by plain loops.
std::vector<double> SeriesOfHops(const attention::GraphInput& graph, const std::vector<double>& f,
                                 double keep, const torch::Tensor& direction) {
  const auto* offsets = graph.offsets.const_data_ptr<std::int64_t>();
  const auto* neighbors = graph.neighbors.const_data_ptr<std::int64_t>();
  const std::int64_t n = graph.offsets.size(0) - 1;
  std::vector<double> power(direction.const_data_ptr<double>(),
                            direction.const_data_ptr<double>() + n);
  std::vector<double> sum(power.size(), 0);
  for (const double coefficient : f) {
    std::vector<double> next(power.size(), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      sum[i] += coefficient * power[i];
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
        next[i] += keep * power[neighbors[e]] / static_cast<double>(offsets[i + 1] - offsets[i]);
      }
    }
    power = std::move(next);
  }
  return sum;
}

/// grf-masking, Eq. 21: without importance weights walks that halt damp the powers of P.
TEST(AdHocWalks, HaveTheMeanOfDampedHops) {
  constexpr int kDraws = 2000;
  const std::vector<double> f{1, 0.5, 0.25, 0.125};
  AttentionInputs inputs = AllScenes({})[1].inputs;
  inputs.parameters["f"] = at::tensor(f, at::kDouble).reshape({1, -1}).expand({2, -1});
  const torch::Tensor direction = Normals({12}, 3);
  for (const char* sampler : {"iid", "antithetic", "repelling", "repelling_per_prefix"}) {
    for (const double halt : {0.0, 0.1, 0.5}) {
      const std::vector<double> expected = SeriesOfHops(inputs.graph, f, 1 - halt, direction);
      const std::vector<double> undamped = SeriesOfHops(inputs.graph, f, 1, direction);
      const std::vector<std::int64_t> rows{0, 5, 11};
      int seen = 0;
      std::vector<std::vector<double>> drawn(rows.size());
      for (int seed = 0; seed < kDraws; ++seed) {
        const nlohmann::json options{
            {"form", "asymmetric"},     {"walks", 4},  {"hops", 3}, {"sampler", sampler},
            {"halt_probability", halt}, {"seed", seed}};
        const torch::Tensor mask = Make("grf_adhoc", options).DenseMask(inputs).value()[0];
        for (std::size_t r = 0; r < rows.size(); ++r) {
          drawn[r].push_back(mask[rows[r]].dot(direction).item<double>());
        }
      }
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Sample sample = SampleOf(kDraws, [&](auto seed) { return drawn[r][seed]; });
        const auto row = static_cast<std::size_t>(rows[r]);
        EXPECT_LE(sample.StandardErrors(expected[row], kDraws), kMaxStandardErrors)
            << sampler << " halt " << halt << " row " << rows[r];
        if (sample.StandardErrors(undamped[row], kDraws) >= 2 * kMaxStandardErrors) ++seen;
      }
      // The damping of walks that halt is seen.
      if (halt == 0.5) {
        EXPECT_GT(seen, 0) << sampler;
      }
    }
  }
}

/// Mean squared error of a mask's entries off the diagonal, over that of its entries.
double MaskError(const char* name, const AttentionInputs& inputs, const torch::Tensor& exact,
                 int draws, const nlohmann::json& extra) {
  const torch::Tensor is_off = 1 - at::eye(inputs.length(), at::kDouble);
  double sum = 0;
  for (int seed = 0; seed < draws; ++seed) {
    nlohmann::json options = extra;
    options["seed"] = seed;
    const torch::Tensor mask = Make(name, options).DenseMask(inputs).value()[0];
    sum += ((mask - exact) * is_off).square().sum().item<double>();
  }
  return sum / draws / (exact * is_off).square().sum().item<double>();
}

/// One mask as a product of two estimates of 3 hops and as one estimate of 6 hops: the error of the
/// asymmetric form with as many walks, which grf-masking, App. D, believes to be the larger.
TEST(WalkForms, HaveTheirErrors) {
  constexpr int kDraws = 40;
  const std::vector<double> f{1, 0.5, 0.25, 0.125};
  std::vector<double> alpha(7, 0);
  for (int p = 0; p < 4; ++p) {
    for (int q = 0; q < 4; ++q) alpha[p + q] += f[p] * f[q];
  }
  for (const auto& [name, graph] :
       std::initializer_list<std::pair<const char*, attention::GraphInput>>{
           {"ring", UndirectedInput(36, RingEdges(36))},
           {"grid", UndirectedInput(36, GridEdges({6, 6}))},
           {"random", UndirectedInput(36, RandomEdges(36, 0.15, 4))}}) {
    AttentionInputs inputs;
    inputs.q = inputs.k = inputs.v = Normals({1, 1, 36, 2}, 1);
    inputs.graph = graph;
    const auto row = [](const std::vector<double>& c) {
      return at::tensor(c, at::kDouble).reshape({1, -1});
    };
    inputs.parameters["f"] = row(alpha);
    const torch::Tensor exact = Make("grf_exact", {{"hops", 6}}).DenseMask(inputs).value()[0];
    const nlohmann::json walks{{"walks", 16}, {"halt_probability", 0.2}, {"sampler", "iid"}};
    const auto with_hops = [&](int hops) {
      nlohmann::json options = walks;
      options["hops"] = hops;
      return options;
    };
    const double asymmetric = MaskError("grf_asym", inputs, exact, kDraws, with_hops(6));
    inputs.parameters["f"] = row(f);
    const double symmetric = MaskError("grf_sym", inputs, exact, kDraws, with_hops(3));
    RecordProperty(std::string("asymmetric_over_symmetric_") + name,
                   std::to_string(asymmetric / symmetric));
    EXPECT_GT(asymmetric, symmetric) << name;
  }
}

/// More walks at inference than in training: the same parameters, less noise.
TEST(WalkForms, TakeAnotherNumberOfWalksWithTheSameParameters) {
  AttentionInputs inputs = AllScenes({})[1].inputs;
  inputs.parameters = Make("grf_sym", {{"walks", 4}}).InitialParameters(inputs).value();
  inputs.parameters["f"] = inputs.parameters["f"] * 0.7;
  const torch::Tensor limit =
      Make("malpha_dense", {{"param", "f"}, {"positive", "coefficients"}, {"degree", 8}})
          .DenseMask(inputs)
          .value()[0];
  const auto error = [&](int walks) {
    return MaskError("grf_sym", inputs, limit, 10, {{"walks", walks}});
  };
  EXPECT_LT(error(64), error(4) / 8);
}

/// Entries of the initial series on an 8 x 8 grid by the distance of tokens, over those of the
/// diagonal: coefficients alpha of the mask are not those of its features, whose mask is flatter.
TEST(InitialSeries, FallsWithDistanceByItsParameters) {
  constexpr double kTableRounding = 0.006;  // two digits after the point
  constexpr std::int64_t kSide = 8, kTokens = kSide * kSide;
  AttentionInputs inputs;
  inputs.q = inputs.k = inputs.v = at::zeros({1, 1, kTokens, 1}, at::kDouble);
  inputs.graph = UndirectedInput(kTokens, GridEdges({kSide, kSide}));
  const std::vector<std::int64_t> distances{1, 2, 3, 5};
  struct Row {
    const char* param;
    int degree;
    std::vector<double> shares;
  };
  for (const Row& row :
       {Row{"alpha", 20, {0.52, 0.34, 0.21, 0.08}}, Row{"alpha", 100, {0.67, 0.53, 0.43, 0.30}},
        Row{"f", 10, {0.79, 0.60, 0.40, 0.15}}, Row{"f", 100, {0.99, 0.97, 0.92, 0.82}}}) {
    const torch::Tensor mask = Make("malpha_dense", {{"param", row.param}, {"degree", row.degree}})
                                   .DenseMask(inputs)
                                   .value()[0];
    std::vector<double> sum(2 * kSide, 0), count(2 * kSide, 0);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const auto apart = static_cast<std::size_t>(std::abs(i / kSide - j / kSide) +
                                                    std::abs(i % kSide - j % kSide));
        sum[apart] += mask[i][j].item<double>();
        ++count[apart];
      }
    }
    for (std::size_t d = 0; d < distances.size(); ++d) {
      const auto apart = static_cast<std::size_t>(distances[d]);
      EXPECT_NEAR(sum[apart] / count[apart] / (sum[0] / count[0]), row.shares[d], kTableRounding)
          << row.param << " of degree " << row.degree << " at distance " << apart;
    }
  }
}

TEST(Heads, HaveWalksOfTheirOwnIfAsked) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  for (const char* name : {"grf_sym", "grf_asym", "grf_adhoc"}) {
    const torch::Tensor shared = Make(name, {{"walks", 4}}).DenseMask(inputs).value();
    const torch::Tensor own =
        Make(name, {{"walks", 4}, {"walks_per_head", true}}).DenseMask(inputs).value();
    EXPECT_TRUE(AreEqual(shared[0], shared[1])) << name;
    EXPECT_LT(RelativeL2(own[0], shared[0]), kDoubleOpTolerance) << name;
    EXPECT_GT(RelativeL2(own[1], own[0]), 1e-3) << name;
  }
}

/// Clipped to nothing, positions have no part.
TEST(FourierFeatures, HaveClippedWeights) {
  AttentionInputs inputs = AllScenes({})[3].inputs;
  const torch::Tensor softmax = Make("softmax", nlohmann::json::object()).Run(inputs).value();
  for (const char* name : {"flt_gm", "flt_gauss3d", "flt_local_nd", "flt_shift_invariant"}) {
    const auto run = [&](double most) {
      return Make(name, {{"score", "softmax"}, {"max_weight", most}, {"weight", 5}})
          .Run(inputs)
          .value();
    };
    EXPECT_LT(RelativeL2(run(0), softmax), kDoubleOpTolerance) << name;
    EXPECT_GT(RelativeL2(run(5), softmax), 1e-3) << name;
    EXPECT_TRUE(AreEqual(run(5), run(1000))) << name;
  }
}

TEST(CausalAttention, LaterTokensChangeNoBit) {
  for (const char* name : {"linear_causal", "rfa_gated", "rfa_self_gated", "flt_gm", "flt_local_nd",
                           "factor", "spe_conv", "spe_sine"}) {
    const MechanismInfo& mechanism = *attention::FindMechanism(name).value();
    const bool is_coded = std::any_of(mechanism.options.begin(), mechanism.options.end(),
                                      [](const auto& spec) { return spec.name == "causal"; });
    for (nlohmann::json options : OptionVariants(mechanism)) {
      if (is_coded) {
        options["causal"] = true;
        options["class_tokens"] = 0;
      }
      AttentionInputs inputs = AllScenes({})[3].inputs;
      inputs.key_mask = torch::Tensor();
      const Attention made = Make(name, options);
      for (const Way way : made.Ways()) {
        const torch::Tensor out = made.Run(inputs, way).value();
        for (const std::int64_t from : {1, 4, 5, 6, 10, 23}) {
          AttentionInputs other = inputs;
          for (torch::Tensor* tensor : {&other.q, &other.k, &other.v}) {
            *tensor = tensor->clone();
            tensor->slice(2, from).mul_(-3).add_(1);
          }
          other.gates = other.gates.clone();
          other.gates.slice(2, from).zero_();
          EXPECT_TRUE(
              AreEqual(made.Run(other, way).value().slice(2, 0, from), out.slice(2, 0, from)))
              << CaseText(name, options, std::to_string(from), way);
        }
      }
    }
  }
}

/// Chunks of one token, that do not divide the tokens, and longer than all: values and gradients.
TEST(CausalAttention, ChunksOfAnySizeAgree) {
  const AttentionInputs scene = AllScenes({})[3].inputs;
  for (const char* name :
       {"linear_causal", "rfa_gated", "rfa_self_gated", "flt_gm", "factor", "spe_conv"}) {
    for (const std::int64_t length : {1, 2, 12, 24}) {
      AttentionInputs inputs = scene;
      for (torch::Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v, &inputs.gates}) {
        *tensor = tensor->slice(2, 0, length).detach().clone();
      }
      inputs.key_mask = inputs.key_mask.slice(1, 0, length);
      inputs.positions = inputs.positions.slice(0, 0, length);
      inputs.grid = {length};
      const auto with_gradients = [&](Way way, std::int64_t chunk) {
        nlohmann::json options{{"chunk", chunk}, {"features", 8}};
        if (std::string_view(name) == "linear_causal") options["score"] = "favor_pos";
        const bool is_coded = !std::string_view(name).starts_with("linear_") &&
                              !std::string_view(name).starts_with("rfa_");
        if (is_coded) options["causal"] = true;
        const Attention made = Make(name, options);
        AttentionInputs leaves = inputs;
        leaves.parameters = made.InitialParameters(inputs).value();
        std::vector<torch::Tensor> variables;
        for (torch::Tensor* tensor : {&leaves.q, &leaves.k, &leaves.v, &leaves.gates}) {
          *tensor = tensor->detach().clone().requires_grad_();
          variables.push_back(*tensor);
        }
        for (auto& entry : leaves.parameters) {
          entry.second.requires_grad_();
          variables.push_back(entry.second);
        }
        const torch::Tensor out = made.Run(leaves, way).value();
        std::vector<torch::Tensor> parts{out.detach().flatten()};
        for (const auto& gradient : torch::autograd::grad({(out * Normals(out.sizes(), 5)).sum()},
                                                          variables, {}, false, false, true)) {
          if (gradient.defined()) parts.push_back(gradient.flatten());
        }
        return at::cat(parts);
      };
      const torch::Tensor dense = with_gradients(Way::kDense, 64);
      for (const std::int64_t chunk : {1, 2, 5, 7, 24, 25, 4096}) {
        EXPECT_LT(RelativeL2(with_gradients(Way::kFeatures, chunk), dense), kDoubleOpTolerance)
            << name << ", " << length << " tokens by " << chunk;
      }
    }
  }
}

/// What a gate of 0 forgets has no part in later rows, not the smallest.
TEST(CausalAttention, AGateOfZeroLeavesNothing) {
  AttentionInputs inputs;
  inputs.q = Normals({1, 1, 4, 2}, 1);
  inputs.k = Normals({1, 1, 4, 2}, 2);
  inputs.v = Normals({1, 1, 4, 2}, 3);
  inputs.gates = at::tensor({0.5, 0.5, 0.0, 1.0}, at::kDouble).reshape({1, 1, 4});
  inputs.key_mask = at::tensor({1, 1, 0, 1}, at::kLong).reshape({1, 4});
  for (const std::int64_t chunk : {2, 3, 4}) {
    const Attention made = Make("rfa_gated", {{"chunk", chunk}});
    for (const Way way : made.Ways()) {
      const torch::Tensor out = made.Run(inputs, way).value();
      EXPECT_EQ(out.slice(2, 3).abs().sum().item<double>(), 0) << WayName(way) << chunk;
      EXPECT_GT(out.slice(2, 0, 2).abs().min().item<double>(), 0) << WayName(way) << chunk;
    }
  }
}

/// Layers of gates learn: a step against the gradient of a loss lessens it.
TEST(CausalAttention, GatesOfTokensAreLearnt) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  const Attention made = Make("rfa_self_gated", {{"gate", 0.5}});
  inputs.parameters = made.InitialParameters(inputs).value();
  // A constant gate at first.
  AttentionInputs given = inputs;
  given.parameters.erase("gate_weight");
  given.parameters.erase("gate_bias");
  given.gates = at::full_like(inputs.gates, 0.5);
  EXPECT_LT(RelativeL2(made.Run(inputs).value(),
                       Make("rfa_gated", nlohmann::json::object()).Run(given).value()),
            kDoubleOpTolerance);
  const torch::Tensor target = at::cumsum(inputs.v, 2);
  const auto loss_of = [&] { return (made.Run(inputs).value() - target).square().mean(); };
  const double first = loss_of().item<double>();
  for (int step = 0; step < 10; ++step) {
    std::vector<torch::Tensor> learnt;
    for (const char* name : {"gate_weight", "gate_bias"}) {
      torch::Tensor& parameter = inputs.parameters[name];
      parameter = parameter.detach().clone().requires_grad_();
      learnt.push_back(parameter);
    }
    const auto gradients = torch::autograd::grad({loss_of()}, learnt);
    inputs.parameters["gate_weight"] = learnt[0].detach() - 0.1 * gradients[0];
    inputs.parameters["gate_bias"] = learnt[1].detach() - 0.1 * gradients[1];
  }
  EXPECT_LT(loss_of().item<double>(), first);
  EXPECT_GT(inputs.parameters["gate_weight"].abs().min().item<double>(), 0);
}

TEST(PackedAttention, EqualsSeparateCalls) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  inputs.segments =
      at::tensor(std::vector<std::int64_t>{0, 0, 0, 5, 5, 5, 5, 5, 2, 2, 9, 9}, at::kLong);
  const Attention packing = Make("packing", nlohmann::json::object());
  for (const Way way : {Way::kFastmult, Way::kFeatures}) {
    const torch::Tensor out = packing.Run(inputs, way).value();
    for (const auto& [first, last] : EdgeList{{0, 3}, {3, 8}, {8, 10}, {10, 12}}) {
      AttentionInputs part = inputs;
      for (torch::Tensor* tensor : {&part.q, &part.k, &part.v})
        *tensor = tensor->slice(2, first, last);
      EXPECT_LT(RelativeL2(out.slice(2, first, last),
                           Make("linear_relu", nlohmann::json::object()).Run(part).value()),
                kDoubleOpTolerance)
          << WayName(way);
    }
  }
}

/// Each head has parameters of its own: exchanged heads give exchanged outputs.
TEST(Heads, AreIndependent) {
  for (const char* name : {"toeplitz_nd", "gdk", "tree_affine", "tree_any", "grf_sym", "favor_pos",
                           "learned_features", "flt_gm", "malpha_dense", "rwgnk", "gkat0", "gcn"}) {
    const Attention made = Make(name, nlohmann::json::object());
    AttentionInputs inputs = AllScenes({})[1].inputs;
    inputs.parameters = made.InitialParameters(inputs).value();
    std::uint64_t seed = 40;
    for (auto& [parameter, tensor] : inputs.parameters) {
      tensor = tensor + 0.1 * Normals(tensor.sizes(), ++seed);
    }
    AttentionInputs swapped = inputs;
    for (torch::Tensor* tensor : {&swapped.q, &swapped.k, &swapped.v}) *tensor = tensor->flip(1);
    for (auto& [parameter, tensor] : swapped.parameters) {
      if (parameter != "xi") tensor = tensor.flip(0);
    }
    for (const Way way : made.Ways()) {
      EXPECT_LT(RelativeL2(made.Run(swapped, way).value().flip(1), made.Run(inputs, way).value()),
                kDoubleOpTolerance)
          << name;
    }
  }
}

}  // namespace
}  // namespace interlacer::testing
