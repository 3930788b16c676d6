// Masks of tokens on trees.

#include <algorithm>
#include <cmath>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/masks/tree.h"

namespace interlacer::attention {
namespace {

TreeAlgorithm AlgorithmOf(const std::string& name, const Forest& forest) {
  if (name == "centroid") return TreeAlgorithm::kCentroid;
  if (name == "diameter") return TreeAlgorithm::kDiameter;
  return ChooseTreeAlgorithm(forest);
}

/// f of every possible distance starts at decay^distance.
NamedTensors DistanceParameters(const Options& options, const AttentionInputs& inputs) {
  std::vector<double> f;
  for (std::int64_t l = 0; l <= DiameterOf(ForestOf(inputs)); ++l) {
    // No zeros: their logarithm would be no parameter.
    f.push_back(BeforePositive(
        options, std::max(1e-30, std::pow(options.Real("decay"), static_cast<double>(l)))));
  }
  return {{"f", PerHead(inputs, f)}};
}

}  // namespace

std::vector<MechanismInfo> TreeMechanisms() {
  const auto ways = AlwaysWays({Way::kDense, Way::kFastmult});
  return {
      Masked({"tree_affine",
              "M_ij = exp(slope distance + offset) on a forest with edge lengths; 0 between trees.",
              "O(L m dv)",
              "gkat, Lemma 3.5 (with e^{aW} where e^W is printed)",
              {"tree"},
              {Number("slope", -0.5, -1e3, 1e3, "initial slope a"),
               Number("offset", 0, -50, 50, "initial offset b")},
              nullptr},
             {ways,
              [](const Options& options, const AttentionInputs& inputs) {
                return NamedTensors{{"slope", PerHead(inputs, options.Real("slope"))},
                                    {"offset", PerHead(inputs, options.Real("offset"))}};
              },
              [](const Options&, const AttentionInputs& inputs) {
                return MakeAffineTreeMask(ForestOf(inputs), inputs.parameters.at("slope"),
                                          inputs.parameters.at("offset"));
              }}),
      Masked(
          {"tree_any",
           "M_ij = f of the number of hops on a forest, f any values; 0 between trees.",
           "centroid: O(L log^2 L m dv); diameter: O(L diameter m dv)",
           "gkat, Lemma 6.1 and 6.2",
           {"tree"},
           {Word("algorithm", {"auto", "centroid", "diameter"},
                 "auto: diameter where it is below log2(L)^2"),
            PositivityOption("abs"), Number("decay", 0.8, 1e-3, 1, "initial f of l hops: decay^l")},
           nullptr},
          {ways, &DistanceParameters,
           [](const Options& options, const AttentionInputs& inputs) {
             Forest forest = ForestOf(inputs);
             const TreeAlgorithm algorithm = AlgorithmOf(options.Chosen("algorithm"), forest);
             return MakeTreeMask(std::move(forest), Positive(options, inputs.parameters.at("f")),
                                 algorithm);
           }}),
  };
}

}  // namespace interlacer::attention
