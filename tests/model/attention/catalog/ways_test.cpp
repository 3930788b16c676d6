// One body for every mechanism of the catalogue: all ways against the dense way in float64, in
// values and gradients.

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::MechanismInfo;
using attention::Way;

/// float32 against float64 over a whole attention: features, sums, products with a mask.
constexpr double kFloatAttentionTolerance = 1e-4;
/// Cosines and sines have sums of scores near zero, by which rows are divided.
constexpr double kSignedScoresTolerance = 1e-2;
/// Central differences in float64, along a direction.
constexpr double kStep = 1e-6;
/// Rounding of the loss, of order ten, over the step: differences below 1e-8 are not seen.
constexpr double kRoundingScale = 1e-2;
/// Near a zero of the row sums third derivatives are huge.
constexpr double kSignedScoresGradientTolerance = 1e-3;

/// Whether a scene is none for this mechanism: a grid that is no hypercube, positions of another
/// dimension.
bool IsRefusedScene(const Status& status) {
  return status.field() == "grid" || status.field() == "positions";
}

class EveryMechanism : public ::testing::TestWithParam<std::size_t> {
 protected:
  const MechanismInfo& info_of() const { return Catalog()[GetParam()]; }

  /// Calls see(attention, scene, inputs with parameters) for every variant of options and scene.
  template <typename See>
  void ForCases(const std::vector<Scene>& scenes, const See& see) const {
    for (const nlohmann::json& options : OptionVariants(info_of())) {
      const auto made = Attention::Make(info_of(), options);
      ASSERT_TRUE(made.ok()) << options << made.status().ToString();
      int scene_count = 0;
      for (const Scene& scene : scenes) {
        AttentionInputs inputs = WithClassTokens(scene.inputs, options);
        const auto parameters = made->InitialParameters(inputs);
        if (parameters.ok()) inputs.parameters = *parameters;
        const auto out = made->Run(inputs, Way::kDense);
        if (!out.ok() && IsRefusedScene(out.status())) continue;
        ASSERT_TRUE(out.ok()) << info_of().name << options << scene.name << out.status().ToString();
        ++scene_count;
        see(*made, options, scene.name, inputs, *out);
      }
      EXPECT_GT(scene_count, 0) << info_of().name;
    }
  }
};

TEST_P(EveryMechanism, AllWaysAgreeInFloat64) {
  ForCases(AllScenes({}),
           [&](const Attention& made, const nlohmann::json& options, const std::string& scene,
               const AttentionInputs& inputs, const torch::Tensor& dense) {
             EXPECT_EQ(dense.sizes(), inputs.v.sizes());
             EXPECT_TRUE(at::isfinite(dense).all().item<bool>()) << scene;
             for (const Way way : made.Ways()) {
               const auto out = made.Run(inputs, way);
               ASSERT_TRUE(out.ok()) << out.status().ToString();
               EXPECT_EQ(out->scalar_type(), at::kDouble);
               EXPECT_LT(RelativeL2(*out, dense), kDoubleOpTolerance)
                   << CaseText(info_of().name, options, scene, way);
             }
             const auto chosen = made.Run(inputs);
             ASSERT_TRUE(chosen.ok());
             EXPECT_LT(RelativeL2(*chosen, dense), kDoubleOpTolerance);
           });
}

TEST_P(EveryMechanism, Float32FollowsFloat64) {
  ForCases(AllScenes({}),
           [&](const Attention& made, const nlohmann::json& options, const std::string& scene,
               const AttentionInputs& inputs, const torch::Tensor&) {
             // The same numbers in both: those that float32 has.
             const AttentionInputs rounded = AsType(inputs, at::kFloat);
             const auto exact = made.Run(AsType(rounded, at::kDouble), Way::kDense);
             ASSERT_TRUE(exact.ok()) << exact.status().ToString();
             const bool is_signed = IsSigned(info_of().name, options);
             for (const Way way : made.Ways()) {
               const auto out = made.Run(rounded, way);
               ASSERT_TRUE(out.ok()) << out.status().ToString();
               EXPECT_EQ(out->scalar_type(), at::kFloat);
               EXPECT_LT(RelativeL2(*out, *exact),
                         is_signed ? kSignedScoresTolerance : kFloatAttentionTolerance)
                   << CaseText(info_of().name, options, scene, way);
             }
           });
}

/// A number for every edge, the same both ways: an undirected graph stays one.
torch::Tensor EdgeNumbers(const attention::GraphInput& graph, std::uint64_t seed) {
  const std::int64_t n = graph.offsets.size(0) - 1;
  const torch::Tensor half = Normals({n, n}, seed), numbers = half + half.transpose(0, 1);
  const torch::Tensor rows = at::repeat_interleave(graph.offsets.diff());
  return numbers.index({rows, graph.neighbors});
}

/// Gradients of a weighted sum of the output along two directions for every input.
void CheckGradients(const Attention& made, const AttentionInputs& inputs, Way way, double tolerance,
                    const std::string& text) {
  const torch::Tensor weights = Normals(inputs.v.sizes(), 900);
  const bool of_kernel = made.options().values().value("coefficients", "decay") != "decay";
  std::vector<std::string> names{"q", "k", "v"};
  for (const std::string& input : made.mechanism().inputs) {
    const std::map<std::string, std::string> tensors{{"graph", "graph.weights"},
                                                     {"tree", "tree.weights"},
                                                     {"positions", "positions"},
                                                     {"mask", "mask"},
                                                     {"gates", "gates"}};
    if (tensors.count(input) > 0) names.push_back(tensors.at(input));
  }
  for (const auto& entry : inputs.parameters) names.push_back(entry.first);
  const auto tensor_of = [](AttentionInputs& of, const std::string& name) -> torch::Tensor& {
    const std::map<std::string, torch::Tensor*> known{
        {"q", &of.q},         {"k", &of.k},
        {"v", &of.v},         {"graph.weights", &of.graph.weights},
        {"mask", &of.mask},   {"tree.weights", &of.tree.weights},
        {"gates", &of.gates}, {"positions", &of.positions}};
    return known.count(name) > 0 ? *known.at(name) : of.parameters.at(name);
  };
  const auto loss_of = [&](const AttentionInputs& at_inputs) {
    return (made.Run(at_inputs, way).value() * weights).sum();
  };
  AttentionInputs leaves = inputs;
  std::vector<torch::Tensor> variables;
  for (const std::string& name : names) {
    torch::Tensor& tensor = tensor_of(leaves, name);
    tensor = tensor.detach().clone().requires_grad_();
    variables.push_back(tensor);
  }
  const auto gradients =
      torch::autograd::grad({loss_of(leaves)}, variables, {}, false, false, true);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const torch::Tensor gradient =
        gradients[i].defined() ? gradients[i] : at::zeros_like(variables[i]);
    for (std::uint64_t seed = 910; seed < 912; ++seed) {
      torch::Tensor direction = names[i] == "graph.weights" ? EdgeNumbers(inputs.graph, seed)
                                                            : Normals(variables[i].sizes(), seed);
      // Those of kernels fall fast, and a step beyond one makes a mask of loads that grow as fast.
      if (names[i] == "f" && of_kernel) direction = direction * variables[i].detach().abs();
      const auto moved = [&](double step) {
        AttentionInputs there = inputs;
        torch::Tensor& tensor = tensor_of(there, names[i]);
        tensor = tensor + step * direction;
        return loss_of(there).item<double>();
      };
      const double numeric = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      const double analytic = (gradient * direction).sum().item<double>();
      const double scale =
          kRoundingScale + std::abs(numeric) + (gradient * direction).norm().item<double>();
      EXPECT_LT(std::abs(numeric - analytic), tolerance * scale)
          << text << " to " << names[i] << ": " << numeric << " and " << analytic;
    }
  }
}

TEST_P(EveryMechanism, GradientsAreThoseOfDifferences) {
  ForCases(AllScenes({1, 2, 3, 2}), [&](const Attention& made, const nlohmann::json& options,
                                        const std::string& scene, const AttentionInputs& inputs,
                                        const torch::Tensor&) {
    // Off the initial values, where parameters are equal and zeros of ReLU are kinks.
    AttentionInputs moved = inputs;
    moved.graph.weights = 0.2 + 0.2 * EdgeNumbers(moved.graph, 929).abs();
    moved.mask = 0.1 + moved.mask;
    moved.gates = moved.gates.clamp(0.01, 0.99);
    std::uint64_t seed = 930;
    for (auto& [name, parameter] : moved.parameters) {
      const torch::Tensor noise = Normals(parameter.sizes(), ++seed);
      // Coefficients of many hops are small and stay positive, sums of weights away from 0.
      parameter = name == "f" ? parameter * (1 + 0.01 * noise) : parameter + 0.01 * noise;
    }
    const double tolerance = IsSigned(info_of().name, options) ? kSignedScoresGradientTolerance
                                                               : kDoubleGradientTolerance;
    for (const Way way : made.Ways()) {
      CheckGradients(made, moved, way, tolerance, CaseText(info_of().name, options, scene, way));
    }
  });
}

TEST_P(EveryMechanism, BatchesAreIndependent) {
  ForCases(AllScenes({}), [&](const Attention& made, const nlohmann::json& options,
                              const std::string& scene, const AttentionInputs& inputs,
                              const torch::Tensor& dense) {
    AttentionInputs second = inputs;
    for (torch::Tensor* tensor :
         {&second.q, &second.k, &second.v, &second.key_mask, &second.gates}) {
      if (tensor->defined()) *tensor = tensor->slice(0, 1, 2);
    }
    for (const Way way : made.Ways()) {
      EXPECT_LT(RelativeL2(made.Run(second, way).value(), dense.slice(0, 1, 2)), kDoubleOpTolerance)
          << CaseText(info_of().name, options, scene, way);
    }
  });
}

TEST_P(EveryMechanism, PaddingHasNoPart) {
  ForCases(AllScenes({}), [&](const Attention& made, const nlohmann::json& options,
                              const std::string& scene, const AttentionInputs& inputs,
                              const torch::Tensor&) {
    AttentionInputs padded = inputs;
    padded.key_mask = at::ones({inputs.batch(), inputs.length()}, at::kLong);
    padded.key_mask.select(1, 3).zero_();
    padded.key_mask.slice(1, inputs.length() - 3).zero_();
    AttentionInputs other = padded;
    const torch::Tensor change = 3 * (1 - padded.KeyMask());
    other.q = other.q - 2 * change;
    other.k = other.k + change;
    other.v = other.v - change;
    for (const Way way : made.Ways()) {
      const std::string text = CaseText(info_of().name, options, scene, way);
      const torch::Tensor out = made.Run(padded, way).value();
      EXPECT_LT(RelativeL2(made.Run(other, way).value(), out), kDoubleOpTolerance) << text;
      EXPECT_EQ(out.masked_select(padded.KeyMask() == 0).abs().sum().item<double>(), 0) << text;
    }
    padded.key_mask.zero_();
    for (const Way way : made.Ways()) {
      EXPECT_EQ(made.Run(padded, way).value().abs().sum().item<double>(), 0)
          << CaseText(info_of().name, options, scene, way);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryMechanism,
                         ::testing::Range<std::size_t>(0, Catalog().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& parameter) {
                           return Catalog()[parameter.param].name;
                         });

}  // namespace
}  // namespace interlacer::testing
