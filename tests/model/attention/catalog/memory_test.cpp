// No fast way builds an L x L array, with any option or for gradients: peaks of all that is
// allocated and of the process at L = 20000; some peaks grow no faster than L.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/support/counted_memory.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::MechanismInfo;
using attention::Way;

constexpr std::int64_t kLength = 20000;
/// A byte for a pair: a quarter of the L x L numbers in float32, and an eighth of the doubles.
std::int64_t MostBytes(const AttentionInputs& inputs) { return inputs.length() * inputs.length(); }
/// The whole process: an array of L x L would not fit beside LibTorch itself.
constexpr std::int64_t kMostProcessBytes = std::int64_t{1400} << 20;

std::int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

AttentionInputs LargeInputs(const MechanismInfo& mechanism, std::int64_t length) {
  // A hypercube has a power of two of corners.
  const bool is_hypercube = mechanism.name == "gdk_hypercube";
  const std::int64_t n = is_hypercube ? 1 << 14 : length;
  AttentionInputs inputs;
  inputs.q = Normals({1, 1, n, 3}, 1, at::kFloat);
  inputs.k = Normals({1, 1, n, 3}, 2, at::kFloat);
  inputs.v = Normals({1, 1, n, 2}, 3, at::kFloat);
  inputs.grid = is_hypercube                      ? std::vector<std::int64_t>(14, 2)
                : mechanism.name == "toeplitz_1d" ? std::vector<std::int64_t>{n}
                                                  : std::vector<std::int64_t>{32, n / 32};
  inputs.positions = Normals({n, mechanism.name == "flt_local" ? 1 : 3}, 4, at::kFloat);
  inputs.segments = at::arange(n, at::kLong).div(100, "floor");
  inputs.tree = RandomForest(n, 5);
  EdgeList edges = RingEdges(n);
  for (std::int64_t i = 0; i < n; i += 3) edges.emplace_back(i, (i * 7919 + 13) % n);
  edges.erase(std::remove_if(edges.begin(), edges.end(),
                             [](const auto& edge) { return edge.first == edge.second; }),
              edges.end());
  inputs.graph = UndirectedInput(n, edges);
  inputs.gates = at::sigmoid(Normals({1, 1, n}, 6, at::kFloat));
  return inputs;
}

class LongInputs : public ::testing::TestWithParam<std::size_t> {};

/// The same, of few walks and hops.
nlohmann::json WithFewWalks(const MechanismInfo& mechanism, nlohmann::json options) {
  const auto set = [&](const char* name, const nlohmann::json& value) {
    for (const auto& spec : mechanism.options) {
      if (spec.name == name) options[name] = value;
    }
  };
  set("walks", 4);
  set("hops", 3);
  set("chunk", 64);
  set("abs", false);
  if (mechanism.name == "malpha_dense") options["positive"] = "coefficients";
  return options;
}

TEST_P(LongInputs, TakeLinearMemory) {
  CountAllocations();
  const MechanismInfo& mechanism = Catalog()[GetParam()];
  const AttentionInputs tokens = LargeInputs(mechanism, kLength);
  bool is_fast = false;
  for (const nlohmann::json& variant : OptionVariants(mechanism)) {
    const nlohmann::json options = WithFewWalks(mechanism, variant);
    const Attention made = Attention::Make(mechanism, options).value();
    if (made.Ways().size() == 1) continue;
    is_fast = true;
    const AttentionInputs inputs = WithClassTokens(tokens, options);
    for (const Way way : made.Ways()) {
      if (way == Way::kDense) continue;
      of_all.peak = of_all.held.load();
      const auto out = made.Run(inputs, way);
      ASSERT_TRUE(out.ok()) << options << out.status().ToString();
      EXPECT_TRUE(at::isfinite(*out).all().item<bool>()) << options;
      EXPECT_LT(of_all.peak.load(), MostBytes(inputs)) << options << WayName(way);
    }
    of_all.peak = of_all.held.load();
    const auto chosen = made.Run(inputs);
    ASSERT_TRUE(chosen.ok()) << options;
    EXPECT_LT(of_all.peak.load(), MostBytes(inputs)) << options;
    EXPECT_LT(ProcessPeakBytes(), kMostProcessBytes) << options;
  }
  if (!is_fast) GTEST_SKIP() << "dense only";
}

TEST_P(LongInputs, TakeLinearMemoryForGradients) {
  CountAllocations();
  const MechanismInfo& mechanism = Catalog()[GetParam()];
  const nlohmann::json options = WithFewWalks(mechanism, OptionVariants(mechanism)[0]);
  const Attention made = Attention::Make(mechanism, options).value();
  if (made.Ways().size() == 1) GTEST_SKIP() << "dense only";
  AttentionInputs inputs = LargeInputs(mechanism, kLength);
  inputs.parameters = made.InitialParameters(inputs).value();
  std::vector<torch::Tensor> leaves{inputs.q, inputs.k, inputs.v};
  for (const auto& entry : inputs.parameters) leaves.push_back(entry.second);
  for (torch::Tensor& leaf : leaves) leaf.requires_grad_();
  for (const Way way : made.Ways()) {
    if (way == Way::kDense) continue;
    of_all.peak = of_all.held.load();
    const auto out = made.Run(inputs, way);
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const auto gradients =
        torch::autograd::grad({out->square().sum()}, leaves, {}, false, false, true);
    EXPECT_TRUE(gradients[2].defined() && at::isfinite(gradients[2]).all().item<bool>());
    // Tokens within six hops are pairs of rwgnk's mask, and gradients keep several arrays of them:
    // twice the bytes, still half an L x L array of float32.
    EXPECT_LT(of_all.peak.load(), 2 * MostBytes(inputs)) << WayName(way);
    EXPECT_LT(ProcessPeakBytes(), kMostProcessBytes) << WayName(way);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, LongInputs, ::testing::Range<std::size_t>(0, Catalog().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& parameter) {
                           return Catalog()[parameter.param].name;
                         });

/// flt, Sec. 4.1.2: with gradients learned transforms hold O(L m), products with a mask O(L m dv).
TEST(AttentionMemory, OfLearnedTransformsHasNoFactorOfTheWidth) {
  CountAllocations();
  const auto peak_of = [](const char* name, Way way, std::int64_t width) {
    constexpr std::int64_t kTokens = 4096;
    AttentionInputs inputs;
    inputs.q = Normals({1, 1, kTokens, 4}, 1, at::kFloat).requires_grad_();
    inputs.k = Normals({1, 1, kTokens, 4}, 2, at::kFloat).requires_grad_();
    inputs.v = Normals({1, 1, kTokens, width}, 3, at::kFloat).requires_grad_();
    inputs.grid = {kTokens};
    inputs.positions = at::arange(kTokens, at::kFloat).unsqueeze(1) / kTokens;
    nlohmann::json options{{"score", "favor_pos"}, {"features", 64}};
    if (way == Way::kFeatures) options["frequencies"] = 8;
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), options).value();
    const std::int64_t before = of_tensors.held.load();
    of_tensors.peak = before;
    const auto out = made.Run(inputs, way);
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return static_cast<double>(of_tensors.peak.load() - before);
  };
  const auto growth = [&](const char* name, Way way) {
    return peak_of(name, way, 64) / peak_of(name, way, 8);
  };
  EXPECT_LT(growth("flt_gm", Way::kFeatures), 2);
  EXPECT_GT(growth("toeplitz_1d", Way::kFastmult), 3);
}

/// Features are made by chunks: neither they nor running sums are there for all tokens at once.
TEST(AttentionMemory, OfCausalAttentionHasNoFeaturesOfAllTokens) {
  CountAllocations();
  constexpr std::int64_t kTokens = 16384, kFeatures = 512;
  AttentionInputs inputs;
  for (torch::Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v}) {
    *tensor = Normals({1, 1, kTokens, 4}, 1, at::kFloat);
  }
  inputs.gates = at::full({1, 1, kTokens}, 0.9, at::kFloat);
  inputs.positions = at::arange(kTokens, at::kFloat).unsqueeze(1) / kTokens;
  for (const char* name : {"linear_causal", "rfa_gated", "rfa_self_gated", "flt_local"}) {
    nlohmann::json options{{"features", kFeatures}};
    if (std::string_view(name) == "linear_causal") options["score"] = "favor_pos";
    if (std::string_view(name) == "flt_local")
      options.update({{"causal", true}, {"frequencies", 4}});
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), options).value();
    const std::int64_t before = of_all.held.load();
    of_all.peak = before;
    ASSERT_TRUE(made.Run(inputs, Way::kFeatures).ok()) << name;
    // A quarter of the features of the keys.
    EXPECT_LT(of_all.peak.load() - before, kTokens * kFeatures) << name;
  }
}

/// grf-masking, Sec. 4: clouds of more than 30000 points, with neither scores nor mask as arrays.
TEST(AttentionMemory, GrowsNoFasterThanTokens) {
  CountAllocations();
  struct Case {
    const char* name;
    nlohmann::json options;
    Way way;
  };
  const nlohmann::json none = nlohmann::json::object(), few{{"walks", 4}, {"hops", 3}};
  for (const Case& of : std::initializer_list<Case>{
           {"linear_relu", none, Way::kFeatures},
           {"favor_pos", {{"features", 8}}, Way::kFeatures},
           {"grf_exact", {{"hops", 3}}, Way::kPairs},
           {"grf_asym", few, Way::kPairs},
           {"grf_sym", few, Way::kFastmult},
           {"grf_sym", few, Way::kPairs},
           {"grf_sym", few, Way::kFeatures},
           {"grf_adhoc", few, Way::kFastmult},
           {"rwgnk", {{"hops", 3}}, Way::kFastmult},
           {"flt_gauss3d", {{"features", 8}, {"frequencies", 4}}, Way::kFeatures}}) {
    const MechanismInfo& mechanism = *attention::FindMechanism(of.name).value();
    const Attention made = Attention::Make(mechanism, of.options).value();
    const auto peak_of = [&](std::int64_t n) {
      const AttentionInputs inputs = LargeInputs(mechanism, n);
      const std::int64_t before = of_all.held.load();
      of_all.peak = before;
      const auto out = made.Run(inputs, of.way);
      EXPECT_TRUE(out.ok()) << out.status().ToString();
      return static_cast<double>(of_all.peak.load() - before);
    };
    const double of_token = peak_of(8192) / 8192;
    EXPECT_GT(of_token, 0) << of.name;
    for (const std::int64_t n : {32768, 131072}) {
      EXPECT_LE(peak_of(n), 1.1 * of_token * static_cast<double>(n))
          << of.name << " " << WayName(of.way) << ", " << n << " tokens";
    }
  }
}

TEST(AttentionMemory, ThePeakIsSeen) {
  CountAllocations();
  of_tensors.peak = of_tensors.held.load();
  of_all.peak = of_all.held.load();
  const std::int64_t before = of_all.held.load();
  const torch::Tensor block = at::empty({kLength, 1000}, at::kFloat);
  EXPECT_GE(of_tensors.peak.load(), block.numel() * 4);
  const std::vector<double> numbers(1 << 20, 1.0);
  EXPECT_GE(of_all.peak.load() - before, block.numel() * 4 + (8 << 20));
  EXPECT_EQ(numbers.back(), 1);
}

}  // namespace
}  // namespace interlacer::testing
