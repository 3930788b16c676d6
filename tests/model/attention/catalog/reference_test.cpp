// Every mechanism, by every way, against its formula in plain loops.

#include "tests/model/attention/catalog/reference.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <set>

#include "model/attention/catalog/catalog.h"
#include "tests/model/gradient_check.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::MechanismInfo;
using attention::Way;

/// The reference's own sums, inverses and squarings: a few hundred roundings.
constexpr double kReferenceTolerance = 1e-9;
/// Cosines and sines have sums of scores near zero, by which rows are divided.
constexpr double kSignedReferenceTolerance = 1e-6;

/// Known by their means over draws alone; statistics_test has those.
const std::set<std::string> kStatistical{"factor"};

/// A grid that is no hypercube, positions of another dimension, a directed graph.
bool IsRefusedScene(const Status& status, const std::string& scene) {
  return status.field() == "grid" || status.field() == "positions" ||
         (status.field() == "graph" && scene.rfind("directed", 0) == 0);
}

class FormulaOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FormulaOf, IsWhatEveryWayComputes) {
  const MechanismInfo& mechanism = Catalog()[GetParam()];
  int compared = 0;
  for (nlohmann::json options : OptionVariants(mechanism)) {
    for (const auto& spec : mechanism.options) {
      // Features are compared as they are printed, without what is added for safety.
      if (spec.name == "epsilon_favor") options["epsilon_favor"] = 0;
    }
    std::vector<nlohmann::json> variants{options};
    if (mechanism.name.rfind("flt_", 0) == 0 || mechanism.name.rfind("spe_", 0) == 0) {
      options["score"] = "softmax";
      variants.push_back(options);
      options["class_tokens"] = 0;
      options["causal"] = true;
      variants.push_back(options);
      options["score"] = "favor_pos";
      options["chunk"] = 5;
      variants.push_back(options);
    }
    for (const nlohmann::json& variant : variants) {
      const Attention made = Attention::Make(mechanism, variant).value();
      std::vector<Scene> scenes = AllScenes({});
      for (Scene& scene : DirectedScenes({})) scenes.push_back(std::move(scene));
      for (const Scene& scene : scenes) {
        AttentionInputs inputs = WithClassTokens(scene.inputs, variant);
        const auto parameters = made.InitialParameters(inputs);
        const Status status = parameters.ok() ? made.Run(inputs).status() : parameters.status();
        if (!status.ok()) {
          EXPECT_TRUE(IsRefusedScene(status, scene.name)) << scene.name << status.ToString();
          continue;
        }
        inputs.parameters = *parameters;
        std::uint64_t seed = 950;
        for (auto& [name, parameter] : inputs.parameters) {
          parameter = parameter + 0.1 * Normals(parameter.sizes(), ++seed);
        }
        const auto expected = ReferenceAttention(mechanism.name, inputs, made.options().values());
        if (!expected) continue;
        ++compared;
        const bool is_signed =
            mechanism.name.rfind("rfa_", 0) == 0 || IsSigned(mechanism.name, variant);
        for (const Way way : made.Ways()) {
          EXPECT_LT(RelativeL2(made.Run(inputs, way).value(), *expected),
                    is_signed ? kSignedReferenceTolerance : kReferenceTolerance)
              << CaseText(mechanism.name, variant, scene.name, way);
        }
      }
    }
  }
  EXPECT_EQ(compared == 0, kStatistical.count(mechanism.name) > 0) << mechanism.name;
}

INSTANTIATE_TEST_SUITE_P(Catalog, FormulaOf, ::testing::Range<std::size_t>(0, Catalog().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& parameter) {
                           return Catalog()[parameter.param].name;
                         });

}  // namespace
}  // namespace interlacer::testing
