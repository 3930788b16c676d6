// The way that a mechanism takes where none is asked for.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/reference.h"
#include "tests/model/attention/catalog/scenes.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Way;

Attention Make(const char* name, const nlohmann::json& options) {
  return Attention::Make(*attention::FindMechanism(name).value(), options).value();
}

AttentionInputs RingOf(std::int64_t n, std::int64_t width, std::int64_t value_width) {
  AttentionInputs inputs;
  inputs.q = Normals({1, 1, n, width}, 1);
  inputs.k = Normals({1, 1, n, width}, 2);
  inputs.v = Normals({1, 1, n, value_width}, 3);
  inputs.graph = UndirectedInput(n, RingEdges(n));
  return inputs;
}

Way WayTaken(const Attention& made, const AttentionInputs& inputs) {
  Way used = Way::kDense;
  EXPECT_TRUE(made.Run(inputs, std::nullopt, &used).ok());
  return used;
}

/// nnz(Phi) m dv operations by products, (m + dv) for every term of Phi Phi^T by pairs. At more
/// tokens than dense is measured to be faster at.
TEST(ChoiceOfWay, OfWalksIsTheFewerOperations) {
  constexpr std::int64_t kTokens = 600;
  int pair_count = 0, product_count = 0;
  for (const int hops : {1, 4}) {
    const Attention made = Make("grf_sym", {{"walks", 4}, {"hops", hops}});
    for (const std::int64_t width : {1, 4, 16, 40}) {
      for (const std::int64_t value_width : {1, 5, 24}) {
        AttentionInputs inputs = RingOf(kTokens, width, value_width);
        inputs.parameters = made.InitialParameters(inputs).value();
        const Matrix phi =
            WalkFeatures({inputs, made.options().values(), 0},
                         std::vector<double>(static_cast<std::size_t>(hops) + 1, 1), 0, true);
        std::int64_t entries = 0, terms = 0;
        for (std::size_t l = 0; l < phi.columns; ++l) {
          std::int64_t of_column = 0;
          for (std::size_t i = 0; i < phi.rows; ++i) of_column += phi(i, l) != 0 ? 1 : 0;
          entries += of_column;
          terms += of_column * of_column;
        }
        const bool is_by_pairs = terms * (width + value_width) < entries * width * value_width;
        ++(is_by_pairs ? pair_count : product_count);
        EXPECT_EQ(WayTaken(made, inputs), is_by_pairs ? Way::kPairs : Way::kFastmult)
            << hops << " hops, widths " << width << " and " << value_width;
      }
    }
  }
  EXPECT_GT(pair_count, 0);
  EXPECT_GT(product_count, 0);
}

/// L (m + dv) <= m dv: 8 tokens for features and values of 16, of mechanisms whose dense way was
/// measured to be the faster one nowhere.
TEST(ChoiceOfWay, OfFewTokensIsDense) {
  for (const char* name : {"fastmult", "centrality"}) {
    const Attention made = Make(name, nlohmann::json::object());
    EXPECT_EQ(WayTaken(made, RingOf(8, 16, 16)), Way::kDense) << name;
    EXPECT_NE(WayTaken(made, RingOf(9, 16, 16)), Way::kDense) << name;
  }
}

TEST(ChoiceOfWay, FollowsTheMeasuredLengths) {
  for (const char* name : {"grf_sym", "heat", "rwgnk"}) {
    const Attention made = Make(name, nlohmann::json::object());
    const attention::DenseLengths lengths = made.mechanism().dense_up_to.value();
    ASSERT_GE(lengths.width_64, 100) << name;
    EXPECT_EQ(WayTaken(made, RingOf(100, 64, 64)), Way::kDense) << name;
    EXPECT_EQ(WayTaken(made, RingOf(100, 80, 64)), Way::kDense) << name;
    EXPECT_NE(WayTaken(made, RingOf(lengths.width_64 + 1, 64, 64)), Way::kDense) << name;
    if (lengths.width_8 < 100) {
      // The narrower of both widths counts.
      EXPECT_NE(WayTaken(made, RingOf(100, 64, 8)), Way::kDense) << name;
    }
  }
}

TEST(ChoiceOfWay, IsNotDenseWhereWeightsAreMany) {
  const Attention made = Make("rwgnk", nlohmann::json::object());
  AttentionInputs inputs = RingOf(256, 64, 64);
  EXPECT_EQ(WayTaken(made, inputs), Way::kDense);
  const std::int64_t batches = attention::kMaxChosenDenseWeights / (256 * 256) + 1;
  for (torch::Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v}) {
    *tensor = tensor->to(at::kFloat).expand({batches, 1, 256, 64});
  }
  EXPECT_NE(WayTaken(made, inputs), Way::kDense);
}

/// Between both widths by powers, beyond them as at the nearer.
TEST(ChoiceOfWay, InterpolatesLengths) {
  const attention::DenseLengths lengths{16, 1024};
  EXPECT_EQ(lengths.At(1), 16);
  EXPECT_EQ(lengths.At(8), 16);
  EXPECT_NEAR(lengths.At(16), 64, 1e-9);
  EXPECT_NEAR(lengths.At(32), 256, 1e-9);
  EXPECT_EQ(lengths.At(64), 1024);
  EXPECT_EQ(lengths.At(500), 1024);
  EXPECT_EQ((attention::DenseLengths{0, 0}.At(8)), 0);
}

/// Of every mechanism that has a choice, and of no other.
TEST(ChoiceOfWay, HasMeasuredLengthsOfEveryMechanism) {
  for (const auto& info : attention::Catalog()) {
    const Attention made = Attention::Make(info, attention::FastOptions(info.name)).value();
    const bool has_choice = made.Ways().size() > 1;
    EXPECT_EQ(info.dense_up_to.has_value(), has_choice) << info.name;
  }
}

/// Several graphs as one, side by side.
TEST(PackedGraphs, GetWhatTheyGetAlone) {
  int count = 0;
  for (const auto& info : attention::Catalog()) {
    const Attention made = Attention::Make(info, nlohmann::json::object()).value();
    if (!made.PacksGraphs()) continue;
    ++count;
    // One of a single token without edges among them.
    const std::int64_t sizes[] = {7, 1, 12, 3};
    std::vector<AttentionInputs> parts;
    std::vector<torch::Tensor> q, k, v;
    EdgeList edges;
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
      AttentionInputs& part = parts.emplace_back();
      const auto seed = static_cast<std::uint64_t>(first);
      q.push_back(part.q = Normals({2, 2, size, 4}, seed + 11).set_requires_grad(true));
      k.push_back(part.k = Normals({2, 2, size, 4}, seed + 12).set_requires_grad(true));
      v.push_back(part.v = Normals({2, 2, size, 4}, seed + 13).set_requires_grad(true));
      part.graph = UndirectedInput(size, RingEdges(size));
      for (const auto& [a, b] : RingEdges(size)) edges.emplace_back(first + a, first + b);
      first += size;
    }
    AttentionInputs whole;
    whole.q = at::cat(q, 2);
    whole.k = at::cat(k, 2);
    whole.v = at::cat(v, 2);
    whole.graph = UndirectedInput(first, edges);
    whole.parameters = made.InitialParameters(whole).value();
    const torch::Tensor weights = Normals({2, 2, first, 4}, 20);
    for (const Way way : made.Ways()) {
      const torch::Tensor out = made.Run(whole, way).value();
      const auto grads =
          torch::autograd::grad({(out * weights).sum()}, {whole.v}, {}, /*retain_graph=*/true);
      std::vector<torch::Tensor> outs, of_v;
      std::int64_t at = 0;
      for (AttentionInputs& part : parts) {
        part.parameters = whole.parameters;
        outs.push_back(made.Run(part, way).value());
        const torch::Tensor own = weights.narrow(2, at, part.length());
        of_v.push_back(torch::autograd::grad({(outs.back() * own).sum()}, {part.v})[0]);
        at += part.length();
      }
      const std::string name = info.name + " " + std::string(attention::WayName(way));
      EXPECT_TRUE(at::allclose(out, at::cat(outs, 2), 1e-9, 1e-11)) << name;
      EXPECT_TRUE(at::allclose(grads[0], at::cat(of_v, 2), 1e-9, 1e-11)) << name;
    }
  }
  EXPECT_EQ(count, 8);
}

TEST(PackedGraphs, AreRefusedWhereSomethingIsOfTheWhole) {
  const auto packs = [](const char* name, const nlohmann::json& options) {
    return Make(name, options).PacksGraphs();
  };
  EXPECT_TRUE(packs("gkat0", {{"delta", 1e-9}, {"elu", true}}));
  EXPECT_FALSE(packs("gkat0", {{"estimator", "sampled"}}));
  EXPECT_FALSE(packs("gkat0", {{"class_tokens", 1}}));
  EXPECT_FALSE(packs("rwgnk", {{"score", "favor_pos"}}));
  EXPECT_FALSE(packs("grf_exact", {{"score", "softmax"}, {"floor", 1e-6}}));
  // Dense products of all with all are no cost of graphs one by one.
  EXPECT_TRUE(Make("gat", nlohmann::json::object()).PacksGraphs(Way::kDense));
  EXPECT_FALSE(Make("gcn", nlohmann::json::object()).PacksGraphs(Way::kDense));
  for (const char* name : {"centrality", "grf_sym", "spd_bias", "smooth_a", "jlt", "gkat"}) {
    EXPECT_FALSE(packs(name, nlohmann::json::object())) << name;
  }
}

TEST(ChoiceOfWay, OfScoresWithoutFeaturesIsByPairs) {
  const Attention made = Make("grf_sym", {{"score", "softmax"}});
  EXPECT_EQ(WayTaken(made, RingOf(60, 4, 4)), Way::kPairs);
}

TEST(ChoiceOfWay, WithoutAMaskIsTheSecond) {
  for (const char* name : {"linear_relu", "favor_pos", "rfa_arccos"}) {
    EXPECT_EQ(WayTaken(Make(name, nlohmann::json::object()), RingOf(3, 16, 16)), Way::kFeatures)
        << name;
  }
}

/// Features where 2 r <= dv + 1: r = 8 and 32 here, of packing 1, and class tokens add two at most.
TEST(ChoiceOfWay, OfMasksOfLowRankIsByTheFewerNumbers) {
  const auto taken = [](const char* name, const nlohmann::json& options, std::int64_t width) {
    AttentionInputs inputs = RingOf(600, width, width);
    inputs.segments = at::arange(600 - options.value("class_tokens", 0), at::kLong).div(7, "floor");
    return WayTaken(Make(name, options), inputs);
  };
  for (const nlohmann::json& options : {nlohmann::json::object(), nlohmann::json{{"rank", 4}}}) {
    const std::int64_t rank = options.empty() ? 8 : 4;
    EXPECT_EQ(taken("lowrank_mask", options, 2 * rank - 2), Way::kFastmult);
    EXPECT_EQ(taken("lowrank_mask", options, 2 * rank - 1), Way::kFeatures);
  }
  EXPECT_EQ(taken("lowrank_mask", {{"class_tokens", 1}}, 18), Way::kFastmult);
  EXPECT_EQ(taken("lowrank_mask", {{"class_tokens", 1}}, 19), Way::kFeatures);
  EXPECT_EQ(taken("jlt", {{"abs", false}}, 8), Way::kFastmult);
  EXPECT_EQ(taken("jlt", {{"abs", false}}, 64), Way::kFeatures);
  EXPECT_EQ(taken("softmax_pos", nlohmann::json::object(), 8), Way::kFastmult);
  EXPECT_EQ(taken("softmax_pos", nlohmann::json::object(), 64), Way::kFeatures);
  EXPECT_EQ(taken("centrality", nlohmann::json::object(), 8), Way::kFeatures);
  EXPECT_EQ(taken("packing", nlohmann::json::object(), 4), Way::kFeatures);
  EXPECT_EQ(taken("packing", {{"class_tokens", 1}}, 4), Way::kFastmult);
  EXPECT_EQ(taken("packing", {{"class_tokens", 1}}, 5), Way::kFeatures);
  // Smoothing has no count: its second way.
  EXPECT_EQ(taken("smooth_b", nlohmann::json::object(), 64), Way::kFastmult);
}

}  // namespace
}  // namespace interlacer::testing
