// The way that a mechanism takes where none is asked for.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

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

/// nnz(Phi) m dv operations by products, (m + dv) for every term of Phi Phi^T by pairs.
TEST(ChoiceOfWay, OfWalksIsTheFewerOperations) {
  constexpr std::int64_t kTokens = 60;
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

/// L (m + dv) <= m dv: 8 tokens for features and values of 16.
TEST(ChoiceOfWay, OfFewTokensIsDense) {
  for (const char* name : {"grf_sym", "gdk", "rwgnk"}) {
    const Attention made = Make(name, nlohmann::json::object());
    EXPECT_EQ(WayTaken(made, RingOf(8, 16, 16)), Way::kDense) << name;
    EXPECT_NE(WayTaken(made, RingOf(9, 16, 16)), Way::kDense) << name;
  }
}

TEST(ChoiceOfWay, OfScoresWithoutFeaturesIsByPairs) {
  const Attention made = Make("grf_sym", {{"score", "softmax"}});
  EXPECT_EQ(WayTaken(made, RingOf(60, 4, 4)), Way::kPairs);
}

TEST(ChoiceOfWay, WithoutAMaskIsTheLast) {
  for (const char* name : {"linear_relu", "favor_pos", "rfa_arccos"}) {
    EXPECT_EQ(WayTaken(Make(name, nlohmann::json::object()), RingOf(3, 16, 16)), Way::kFeatures)
        << name;
  }
  AttentionInputs packed = RingOf(60, 4, 4);
  packed.segments = at::arange(60, at::kLong).div(7, "floor");
  EXPECT_EQ(WayTaken(Make("packing", nlohmann::json::object()), packed), Way::kFastmult);
}

}  // namespace
}  // namespace interlacer::testing
