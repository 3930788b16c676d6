// Gradients to numbers that are exactly 0, which may be the end of their range, and to first values
// of parameters: against differences to one side.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Way;

/// Scores elu1 of most cases are above 0: no row's sum is near 0, where differences are coarse.
constexpr double kOneSidedStep = 1e-6;
/// Of differences of polynomials that are right to 1e-13, over the step.
constexpr double kOneSidedTolerance = 1e-5;

using TensorOf = std::function<torch::Tensor&(AttentionInputs&)>;

torch::Tensor& MaskOf(AttentionInputs& inputs) { return inputs.mask; }
torch::Tensor& WeightsOf(AttentionInputs& inputs) { return inputs.graph.weights; }
TensorOf Parameter(const char* name) {
  return [name](AttentionInputs& inputs) -> torch::Tensor& { return inputs.parameters.at(name); };
}

torch::Tensor IsZero(const torch::Tensor& x) { return (x == 0).to(x.scalar_type()); }

/// By every way, of a weighted sum of the output along `direction`.
void ExpectGradients(const char* name, const nlohmann::json& options, const AttentionInputs& inputs,
                     const TensorOf& tensor_of, const torch::Tensor& direction) {
  const Attention made = Attention::Make(*attention::FindMechanism(name).value(), options).value();
  const torch::Tensor weights = Normals(inputs.v.sizes(), 900);
  for (const Way way : made.Ways()) {
    SCOPED_TRACE(CaseText(name, options, "", way));
    const auto loss_of = [&](const AttentionInputs& at_inputs) {
      return (made.Run(at_inputs, way).value() * weights).sum();
    };
    const auto moved = [&](double step) {
      AttentionInputs there = inputs;
      torch::Tensor& tensor = tensor_of(there);
      tensor = tensor + step * direction;
      return loss_of(there).item<double>();
    };
    // Second order, as a central difference is.
    const double numeric =
        (4 * moved(kOneSidedStep / 2) - 3 * moved(0) - moved(kOneSidedStep)) / kOneSidedStep;
    AttentionInputs leaves = inputs;
    torch::Tensor& variable = tensor_of(leaves);
    variable = variable.detach().clone().requires_grad_();
    const torch::Tensor gradient = torch::autograd::grad({loss_of(leaves)}, {variable})[0];
    const double analytic = (gradient * direction).sum().item<double>();
    EXPECT_GT(std::abs(numeric), 1e-2);
    EXPECT_LT(std::abs(numeric - analytic), kOneSidedTolerance * (1 + std::abs(numeric)))
        << numeric << " and " << analytic;
  }
}

/// Weights above 0 but at edges a - b, both ways.
torch::Tensor WeightsBut(const AttentionInputs& inputs, std::int64_t a, std::int64_t b) {
  const torch::Tensor from = at::repeat_interleave(inputs.graph.offsets.diff());
  const torch::Tensor& to = inputs.graph.neighbors;
  const torch::Tensor is_out = ((from == a) & (to == b)) | ((from == b) & (to == a));
  return (0.3 + 0.01 * at::minimum(from, to)).to(at::kDouble).masked_fill(is_out, 0);
}

/// A path of two halves that an edge of weight 0 joins.
AttentionInputs HalvedPath() {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  EdgeList path = RingEdges(12);
  path.pop_back();
  inputs.graph = UndirectedInput(12, path);
  inputs.graph.weights = WeightsBut(inputs, 5, 6);
  return inputs;
}

/// Values of one token each: sums over the others' are 0.
torch::Tensor UnitValues(const AttentionInputs& inputs,
                         std::initializer_list<std::int64_t> tokens) {
  torch::Tensor v = at::zeros(
      {inputs.batch(), inputs.heads(), inputs.length(), static_cast<std::int64_t>(tokens.size())},
      at::kDouble);
  std::int64_t column = 0;
  for (const std::int64_t token : tokens) v.select(2, token).select(2, column++).fill_(1);
  return v;
}

/// What would come in is weighed by its own logit.
TEST(GradientsAtZero, OfSoftmaxAreThoseOfTheLogits) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  inputs.mask = inputs.mask + at::eye(12, at::kDouble);
  ExpectGradients("softmax_masked", nlohmann::json::object(), inputs, MaskOf, IsZero(inputs.mask));
  // A row that lets nothing in.
  inputs.mask.select(1, 4).zero_();
  ExpectGradients("softmax_masked", {{"delta", 0.5}}, inputs, MaskOf, IsZero(inputs.mask));
  inputs.key_mask = at::ones({2, 12}, at::kDouble);
  inputs.key_mask.slice(1, 10).zero_();
  ExpectGradients("softmax_masked", {{"delta", 0.5}}, inputs, MaskOf, IsZero(inputs.mask));

  AttentionInputs ring = AllScenes({})[0].inputs;
  ring.graph.weights = WeightsBut(ring, 3, 4);
  for (const AttentionInputs& graph : {HalvedPath(), ring}) {
    const torch::Tensor direction = IsZero(graph.graph.weights);
    ExpectGradients("gat_mask", {{"score", "softmax"}}, graph, WeightsOf, direction);
    ExpectGradients("gkat_dynamic", {{"score", "elu1"}}, graph, WeightsOf, direction);
    ExpectGradients("gkat0", nlohmann::json::object(), graph, WeightsOf, direction);
  }
}

/// Logits far above all that are in: the gradient ends below overflow, and all others are numbers.
TEST(GradientsAtZero, OfHugeLogitsAreNumbers) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    AttentionInputs inputs = AsType(HalvedPath(), type);
    inputs.q.select(2, 5).fill_(60);
    inputs.k.select(2, 6).fill_(60);
    for (const char* name : {"gat_mask", "gkat_dynamic", "gkat0"}) {
      const Attention made =
          Attention::Make(*attention::FindMechanism(name).value(), nlohmann::json::object())
              .value();
      for (const Way way : made.Ways()) {
        AttentionInputs leaves = inputs;
        leaves.parameters = made.InitialParameters(inputs).value();
        std::vector<torch::Tensor> variables;
        for (torch::Tensor* tensor : {&leaves.q, &leaves.k, &leaves.v, &leaves.graph.weights}) {
          *tensor = tensor->clone().requires_grad_();
          variables.push_back(*tensor);
        }
        for (auto& entry : leaves.parameters) variables.push_back(entry.second.requires_grad_());
        const torch::Tensor out = made.Run(leaves, way).value();
        const torch::Tensor plain = made.Run(inputs, way).value();
        EXPECT_LT(RelativeL2(out.detach(), plain),
                  type == at::kDouble ? kDoubleOpTolerance : kFloatOpTolerance)
            << name << WayName(way);
        // The same sums: no bit of what is in differs.
        if (std::string_view(name) == "gat_mask") {
          EXPECT_TRUE(AreEqual(out.detach(), plain)) << WayName(way);
        }
        for (const torch::Tensor& gradient :
             torch::autograd::grad({out.sum()}, variables, {}, false, false, true)) {
          if (!gradient.defined()) continue;
          EXPECT_TRUE(at::isfinite(gradient).all().item<bool>()) << name << WayName(way);
        }
      }
    }
  }
}

/// Walks go on behind an edge of weight 0.
TEST(GradientsAtZero, OfWalksAreThoseOfAllWalks) {
  const AttentionInputs inputs = HalvedPath();
  const torch::Tensor direction = IsZero(inputs.graph.weights);
  EXPECT_EQ(direction.sum().item<double>(), 2);
  ExpectGradients("grf_exact", {{"hops", 5}, {"score", "elu1"}}, inputs, WeightsOf, direction);
  ExpectGradients("grf_exact", {{"hops", 5}, {"score", "softmax"}}, inputs, WeightsOf, direction);
  ExpectGradients("rwgnk", {{"hops", 5}, {"score", "elu1"}}, inputs, WeightsOf, direction);
  ExpectGradients("gkat", {{"hops", 5}}, inputs, WeightsOf, direction);
  ExpectGradients("gkat_dynamic", {{"score", "elu1"}, {"dynamic", "product"}}, inputs, WeightsOf,
                  direction);
  for (const char* name : {"grf_sym", "grf_asym"}) {
    ExpectGradients(name, {{"walks", 64}, {"hops", 5}, {"score", "elu1"}}, inputs, WeightsOf,
                    direction);
  }
}

/// Diffusion that has not begun anywhere.
TEST(GradientsAtZero, OfWeightsThatAllAreZero) {
  AttentionInputs inputs = HalvedPath();
  inputs.graph.weights = at::zeros_like(inputs.graph.weights);
  for (const char* operator_name : {"laplacian", "neg_adjacency"}) {
    ExpectGradients("gdk", {{"operator", operator_name}, {"score", "elu1"}}, inputs, WeightsOf,
                    at::ones_like(inputs.graph.weights));
  }
}

/// Products round, and what is below is cut; what is 0 by itself is not.
TEST(GradientsAtZero, OfProductsThatRoundAreThoseOfTheDenseMask) {
  AttentionInputs path = HalvedPath();
  path.v = UnitValues(path, {0, 6, 11});
  for (const char* operator_name : {"laplacian", "normalised", "neg_adjacency"}) {
    ExpectGradients("gdk",
                    {{"operator", operator_name}, {"method", "chebyshev"}, {"score", "elu1"}}, path,
                    WeightsOf, IsZero(path.graph.weights));
  }
  ExpectGradients("heat", {{"method", "chebyshev"}, {"score", "elu1"}}, path, WeightsOf,
                  IsZero(path.graph.weights));

  AttentionInputs band = AllScenes({})[0].inputs;
  band.v = UnitValues(band, {0, 6, 11});
  torch::Tensor b = at::zeros({2, 23}, at::kDouble);
  b.slice(1, 9, 14).fill_(1);
  band.parameters["b"] = b;
  ExpectGradients("toeplitz_1d", {{"positivity", "none"}, {"score", "elu1"}}, band, Parameter("b"),
                  IsZero(b));

  constexpr std::int64_t kPath = 200;
  AttentionInputs deep;
  deep.q = Normals({1, 1, kPath, 2}, 1);
  deep.k = Normals({1, 1, kPath, 2}, 2);
  deep.v = UnitValues(deep, {0, 77, 199});
  deep.tree = PathTree(kPath);
  torch::Tensor f = at::zeros({1, kPath}, at::kDouble);
  f.slice(1, 0, 3).fill_(1);
  deep.parameters["f"] = f;
  ExpectGradients("tree_any",
                  {{"positivity", "none"}, {"algorithm", "centroid"}, {"score", "elu1"}}, deep,
                  Parameter("f"), IsZero(f));
}

/// Sums of |offset| on a grid make a matrix of low rank, to which other offsets add columns.
TEST(GradientsAtFirstValues, OfFactorsAreThoseOfTheWholeMatrix) {
  AttentionInputs inputs = AllScenes({})[1].inputs;
  ASSERT_EQ(inputs.grid, (std::vector<std::int64_t>{3, 4}));
  for (const char* score : {"softmax", "favor_pos"}) {
    const nlohmann::json options{{"score", score}, {"features", 8}};
    inputs.parameters = Attention::Make(*attention::FindMechanism("factor").value(), options)
                            ->InitialParameters(inputs)
                            .value();
    const torch::Tensor direction = Normals(inputs.parameters.at("b").sizes(), 5);
    ExpectGradients("factor", options, inputs, Parameter("b"), direction);
  }
}

}  // namespace
}  // namespace interlacer::testing
