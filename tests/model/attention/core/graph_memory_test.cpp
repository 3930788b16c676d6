// What is kept of a graph, and walks that are: the same numbers, sooner.

#include "model/attention/core/graph_memory.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::GraphInput;
using attention::GraphMemory;
using attention::MechanismInfo;
using attention::Way;

TEST(GraphMemory, MakesOnceForEveryGraphSlotAndVersion) {
  GraphMemory memory;
  int made = 0;
  const auto get = [&](const GraphInput& graph, const char* slot, std::uint64_t version) {
    return *memory.Get<int>(graph, slot, version, [&made] { return ++made; });
  };
  const GraphInput ring = UndirectedInput(6, RingEdges(6));
  EXPECT_EQ(get(ring, "a", 0), 1);
  EXPECT_EQ(get(ring, "a", 0), 1);
  EXPECT_EQ(get(ring, "b", 0), 2);
  EXPECT_EQ(get(ring, "a", 0), 1);
  EXPECT_EQ(get(ring, "a", 7), 3);
  // Equal numbers are the same graph, wherever they are.
  EXPECT_EQ(get(UndirectedInput(6, RingEdges(6)), "a", 7), 3);
  const GraphInput path = UndirectedInput(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  EXPECT_EQ(get(path, "a", 7), 4);
  EXPECT_EQ(get(ring, "a", 7), 5);
  EXPECT_EQ(get(ring, "b", 0), 6);
}

TEST(GraphMemory, SeesWeightsThatChangeInPlaceAndKeepsNoneThatAreLearned) {
  GraphMemory memory;
  int made = 0;
  const auto get = [&](const GraphInput& graph) {
    return *memory.Get<int>(graph, "walks", 0, [&made] { return ++made; });
  };
  GraphInput ring = UndirectedInput(6, RingEdges(6));
  EXPECT_EQ(get(ring), 1);
  ring.weights = at::ones({12}, at::kDouble);
  EXPECT_EQ(get(ring), 2);
  EXPECT_EQ(get(ring), 2);
  ring.weights[3] = 2;
  EXPECT_EQ(get(ring), 3);
  GraphInput learned = ring;
  learned.weights = ring.weights.clone().requires_grad_();
  EXPECT_EQ(get(learned), 4);
  EXPECT_EQ(get(learned), 5);
  EXPECT_EQ(get(ring), 3);
}

TEST(GraphMemory, KeepsNothingOfWhatFails) {
  GraphMemory memory;
  const GraphInput ring = UndirectedInput(6, RingEdges(6));
  const auto fail = []() -> int { throw std::runtime_error("no walks"); };
  EXPECT_THROW(memory.Get<int>(ring, "walks", 0, fail), std::runtime_error);
  EXPECT_EQ(*memory.Get<int>(ring, "walks", 0, [] { return 8; }), 8);
}

bool Has(const MechanismInfo& mechanism, const char* option) {
  return std::any_of(mechanism.options.begin(), mechanism.options.end(),
                     [option](const auto& spec) { return spec.name == option; });
}

/// Calls on one graph and on others, with other queries, steps and numbers of heads, in turn.
std::vector<AttentionInputs> Calls() {
  const std::vector<Scene> scenes = AllScenes({});
  std::vector<AttentionInputs> calls{scenes[0].inputs, scenes[0].inputs, scenes[1].inputs,
                                     scenes[0].inputs, scenes[0].inputs, scenes[0].inputs};
  calls[1].q = Normals(calls[1].q.sizes(), 41);
  calls[4].step = 3;
  for (torch::Tensor* tensor : {&calls[5].q, &calls[5].k, &calls[5].v, &calls[5].gates}) {
    *tensor = tensor->slice(1, 0, 1);
  }
  calls[5].mask = calls[5].mask.slice(0, 0, 1);
  return calls;
}

TEST(KeptWalks, GiveTheBitsOfWalksThatAreNot) {
  int compared = 0;
  for (const MechanismInfo& mechanism : Catalog()) {
    if (!Has(mechanism, "keep_walks")) continue;
    for (nlohmann::json options : OptionVariants(mechanism)) {
      if (Has(mechanism, "redraw_every")) options["redraw_every"] = 2;
      options["keep_walks"] = false;
      const Attention plain = Attention::Make(mechanism, options).value();
      options["keep_walks"] = true;
      const Attention keeping = Attention::Make(mechanism, options).value();
      for (AttentionInputs inputs : Calls()) {
        inputs = WithClassTokens(std::move(inputs), options);
        EXPECT_TRUE(AreEqual(keeping.Run(inputs, Way::kDense).value(),
                             plain.Run(inputs, Way::kDense).value()))
            << mechanism.name << options << inputs.step;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

/// Two types of numbers share what is kept of a graph.
TEST(KeptWalks, ServeBothTypesOfNumbers) {
  const MechanismInfo& mechanism = *attention::FindMechanism("grf_sym").value();
  const Attention keeping = Attention::Make(mechanism, {{"keep_walks", true}}).value();
  const Attention plain = Attention::Make(mechanism, nlohmann::json::object()).value();
  const AttentionInputs inputs = AllScenes({})[1].inputs, rounded = AsType(inputs, at::kFloat);
  for (const AttentionInputs* call : {&inputs, &rounded, &inputs}) {
    const torch::Tensor out = keeping.Run(*call).value();
    EXPECT_EQ(out.scalar_type(), call->q.scalar_type());
    EXPECT_TRUE(AreEqual(out, plain.Run(*call).value()));
  }
}

TEST(KeptWalks, AreNotDrawnAgain) {
  const Attention keeping =
      Attention::Make(
          *attention::FindMechanism("grf_asym").value(),
          {{"keep_walks", true}, {"walks", 20000}, {"hops", 8}, {"halt_probability", 0.0}})
          .value();
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  const auto seconds = [&] {
    const std::clock_t start = std::clock();
    EXPECT_TRUE(keeping.Run(inputs, Way::kDense).ok());
    return static_cast<double>(std::clock() - start);
  };
  const double first = seconds();
  EXPECT_LT(std::min(seconds(), seconds()), first / 4);
}

/// Of dense masks: the same to rounding, sooner.
TEST(KeptPowers, GiveTheMaskOfPowersThatAreNot) {
  const MechanismInfo& mechanism = *attention::FindMechanism("malpha_dense").value();
  for (const char* param : {"alpha", "f"}) {
    for (const char* positive : {"mask", "coefficients"}) {
      const nlohmann::json options{{"param", param}, {"positive", positive}, {"degree", 9}};
      const Attention plain = Attention::Make(mechanism, options).value();
      nlohmann::json kept = options;
      kept["keep_powers"] = true;
      const Attention keeping = Attention::Make(mechanism, kept).value();
      std::uint64_t seed = 70;
      for (const AttentionInputs& call : Calls()) {
        AttentionInputs inputs = call;
        inputs.parameters = plain.InitialParameters(inputs).value();
        // Coefficients that are learnt meanwhile.
        torch::Tensor& c = inputs.parameters[param];
        c = (c + 0.1 * Normals(c.sizes(), ++seed)).requires_grad_();
        const auto with_gradient = [&](const Attention& made) {
          const torch::Tensor mask = made.DenseMask(inputs).value();
          const auto gradient =
              torch::autograd::grad({(mask * Normals(mask.sizes(), 6)).sum()}, {c})[0];
          return at::cat({mask.detach().flatten(), gradient.flatten()});
        };
        EXPECT_LT(RelativeL2(with_gradient(keeping), with_gradient(plain)), kDoubleOpTolerance)
            << kept;
      }
    }
  }
}

TEST(KeptPowers, AreNotMadeAgain) {
  constexpr std::int64_t kTokens = 200;
  AttentionInputs inputs;
  inputs.q = inputs.k = inputs.v = Normals({1, 1, kTokens, 2}, 1);
  inputs.graph = UndirectedInput(kTokens, RingEdges(kTokens));
  const MechanismInfo& mechanism = *attention::FindMechanism("malpha_dense").value();
  const Attention keeping = Attention::Make(mechanism, {{"keep_powers", true}}).value();
  const auto seconds = [&] {
    const std::clock_t start = std::clock();
    EXPECT_TRUE(keeping.Run(inputs, Way::kDense).ok());
    return static_cast<double>(std::clock() - start);
  };
  const double first = seconds();
  EXPECT_LT(std::min(seconds(), seconds()), first / 2);
}

TEST(KeptPowers, OfTooManyNumbersAreRefusedBeforeTheyAreMade) {
  constexpr std::int64_t kTokens = 20000;
  AttentionInputs inputs;
  inputs.q = inputs.k = inputs.v = Normals({1, 1, kTokens, 1}, 1);
  inputs.graph = UndirectedInput(kTokens, RingEdges(kTokens));
  const nlohmann::json options{{"keep_powers", true}, {"positive", "coefficients"}, {"degree", 3}};
  const Attention keeping =
      Attention::Make(*attention::FindMechanism("malpha_dense").value(), options).value();
  EXPECT_EQ(keeping.DenseMask(inputs).status().code(), StatusCode::kResourceExhausted);
  // The fast way makes none.
  EXPECT_TRUE(keeping.Run(inputs, Way::kFastmult).ok());
}

TEST(KeptWalks, ServeCallsTogether) {
  const MechanismInfo& mechanism = *attention::FindMechanism("grf_sym").value();
  const Attention keeping = Attention::Make(mechanism, {{"keep_walks", true}}).value();
  const Attention plain = Attention::Make(mechanism, nlohmann::json::object()).value();
  const std::vector<Scene> scenes = AllScenes({});
  std::vector<torch::Tensor> expected;
  for (const Scene& scene : scenes) expected.push_back(plain.Run(scene.inputs).value());
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 12; ++i) {
        const std::size_t s = (i + t) % scenes.size();
        if (!AreEqual(keeping.Run(scenes[s].inputs).value(), expected[s])) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace interlacer::testing
