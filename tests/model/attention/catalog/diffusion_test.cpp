// Diffusion on graphs of several components, of which none knows of the others.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <utility>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Way;

constexpr const char* kMethods[] = {"auto", "chebyshev", "taylor"};

/// gdk of an operator, or the mechanism `heat`.
Attention Diffusion(const std::string& operator_name, nlohmann::json options) {
  const bool is_heat = operator_name == "heat";
  if (!is_heat) options["operator"] = operator_name;
  return Attention::Make(*attention::FindMechanism(is_heat ? "heat" : "gdk").value(), options)
      .value();
}

AttentionInputs TokensOf(std::int64_t n, const EdgeList& edges) {
  AttentionInputs inputs;
  inputs.q = Normals({2, 2, n, 4}, 1);
  inputs.k = Normals({2, 2, n, 4}, 2);
  inputs.v = Normals({2, 2, n, 3}, 3);
  inputs.graph = UndirectedInput(n, edges);
  return inputs;
}

/// The mask's row of such a token has one entry, however long the others diffuse.
TEST(Diffusion, LeavesTokensWithoutEdgesAlone) {
  constexpr std::int64_t kLast = 11;
  const AttentionInputs exact = TokensOf(kLast + 1, RingEdges(kLast));
  for (const char* operator_name : {"heat", "neg_adjacency"}) {
    for (const double lambda : {20., 33., 100., 1000.}) {
      for (const char* method : kMethods) {
        const Attention made = Diffusion(operator_name, {{"lambda", lambda}, {"method", method}});
        for (const Way way : made.Ways()) {
          SCOPED_TRACE(std::string(operator_name) + " " + std::to_string(lambda) + " " + method +
                       " " + std::string(WayName(way)));
          for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
            AttentionInputs inputs = AsType(exact, type);
            inputs.v = inputs.v.clone().requires_grad_();
            const torch::Tensor own = made.Run(inputs, way).value().select(2, kLast);
            const double tolerance = type == at::kDouble ? kDoubleOpTolerance : kFloatOpTolerance;
            EXPECT_LT(RelativeL2(own.detach(), inputs.v.detach().select(2, kLast)), tolerance);
            torch::Tensor expected = at::zeros_like(inputs.v);
            expected.select(2, kLast).fill_(1);
            const torch::Tensor gradient = torch::autograd::grad({own.sum()}, {inputs.v})[0];
            EXPECT_LT(RelativeL2(gradient, expected), tolerance);
          }
        }
      }
    }
  }
}

/// A component of small keys is not below the error of the others' polynomials.
TEST(Diffusion, KeepsTheDigitsOfSmallKeys) {
  constexpr std::int64_t kLast = 11;
  AttentionInputs inputs = TokensOf(kLast + 1, RingEdges(kLast));
  inputs.q = inputs.q.abs();
  inputs.k = inputs.k.abs();
  inputs.k.select(2, kLast).mul_(1e-20);
  for (const char* operator_name : {"heat", "laplacian"}) {
    const Attention made =
        Diffusion(operator_name, {{"lambda", 40}, {"method", "chebyshev"}, {"epsilon", 0}});
    for (const Way way : made.Ways()) {
      EXPECT_LT(
          RelativeL2(made.Run(inputs, way).value().select(2, kLast), inputs.v.select(2, kLast)),
          kDoubleOpTolerance)
          << operator_name << WayName(way);
    }
  }
}

/// Of largest eigenvalues 4, 1, 1.94 and 0.
TEST(Diffusion, OfComponentsIsThatOfEachAlone) {
  EdgeList clique, path = RingEdges(12);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < i; ++j) clique.emplace_back(i, j);
  }
  path.pop_back();
  const std::vector<std::pair<std::int64_t, EdgeList>> parts{
      {5, clique}, {2, {{0, 1}}}, {12, path}, {1, {}}};
  EdgeList edges;
  std::int64_t n = 0;
  for (const auto& [size, own] : parts) {
    for (const auto& [a, b] : own) edges.emplace_back(n + a, n + b);
    n += size;
  }
  const AttentionInputs whole = TokensOf(n, edges);
  const auto expect_equal_rows = [&](const Attention& made, const std::string& text) {
    for (const Way way : made.Ways()) {
      const torch::Tensor together = made.Run(whole, way).value();
      std::int64_t first = 0;
      for (const auto& [size, own] : parts) {
        AttentionInputs alone;
        alone.q = whole.q.slice(2, first, first + size);
        alone.k = whole.k.slice(2, first, first + size);
        alone.v = whole.v.slice(2, first, first + size);
        alone.graph = UndirectedInput(size, own);
        EXPECT_LT(RelativeL2(together.slice(2, first, first + size), made.Run(alone, way).value()),
                  kDoubleOpTolerance)
            << text << WayName(way) << " from token " << first;
        first += size;
      }
    }
  };
  // Taylor's terms suffice for 4500 of the largest eigenvalue 4, polynomials for 1e6 of 1.
  for (const char* operator_name : {"heat", "neg_adjacency", "laplacian", "normalised"}) {
    for (const double lambda : {1., 33., 300., 4500.}) {
      for (const char* method : kMethods) {
        expect_equal_rows(
            Diffusion(operator_name, {{"lambda", lambda}, {"method", method}}),
            std::string(operator_name) + " " + std::to_string(lambda) + " " + method + " ");
      }
    }
  }
  expect_equal_rows(Diffusion("heat", {{"lambda", 1e6}}), "heat 1e6 ");
}

/// A path with a heavy end: bounds by a few powers are a hundredth above the largest eigenvalue,
/// which is all that float32 has at such times.
TEST(Diffusion, OfLongTimesHasNumbersInFloat32) {
  constexpr std::int64_t kTokens = 35;
  EdgeList edges;
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < i; ++j) edges.emplace_back(i, j);
  }
  for (std::int64_t i = 5; i < kTokens; ++i) edges.emplace_back(i - 1, i);
  const AttentionInputs exact = TokensOf(kTokens, edges);
  const Attention made = Diffusion("neg_adjacency", {{"lambda", 4000}});
  const torch::Tensor expected = made.Run(exact, Way::kDense).value();
  EXPECT_GT(expected.abs().amax({0, 1, 3}).min().item<double>(), 1e-3);
  for (const Way way : made.Ways()) {
    EXPECT_LT(RelativeL2(made.Run(AsType(exact, at::kFloat), way).value(), expected),
              kFloatStepTolerance)
        << WayName(way);
  }
}

}  // namespace
}  // namespace interlacer::testing
