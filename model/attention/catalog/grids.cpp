// Masks of tokens on grids.

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "common/number_text.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/masks/heat.h"
#include "model/attention/masks/toeplitz.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

constexpr std::size_t kMaxGridSides = 8;
constexpr std::size_t kMaxHypercubeSides = 16;

std::int64_t FurthestDistance(const std::vector<std::int64_t>& grid) {
  std::int64_t distance = 0;
  for (const std::int64_t side : grid) distance += std::max<std::int64_t>(side - 1, 0);
  return distance;
}

NamedTensors ToeplitzParameters(const Options& options, const AttentionInputs& inputs) {
  if (options.Is("offsets", "free")) {
    return {{"b", PerHead(inputs, std::vector<double>(OffsetCount(inputs.grid),
                                                      BeforePositive(options, 1)))}};
  }
  if (options.Is("offsets", "l1_distance")) {
    return {{"f", PerHead(inputs, std::vector<double>(FurthestDistance(inputs.grid) + 1,
                                                      BeforePositive(options, 1)))}};
  }
  return {{"gamma", PerHead(inputs, options.Real("gamma"))}};
}

torch::Tensor PowersByDistance(const torch::Tensor& base, const std::vector<std::int64_t>& grid) {
  return at::pow(base.to(at::kDouble).unsqueeze(1), OffsetDistances(grid).unsqueeze(0));
}

MaskPtr ToeplitzMaskOf(const Options& options, const AttentionInputs& inputs) {
  torch::Tensor b;
  if (options.Is("offsets", "free")) {
    b = Positive(options, inputs.parameters.at("b"));
  } else if (options.Is("offsets", "l1_distance")) {
    b = Positive(options, inputs.parameters.at("f")).index_select(1, OffsetDistances(inputs.grid));
  } else {
    b = PowersByDistance(inputs.parameters.at("gamma").abs(), inputs.grid);
  }
  if (options.IsSet("causal")) b = b * (1 - IsLaterOffset(inputs.grid)).unsqueeze(0);
  return MakeToeplitzMask(inputs.grid, b);
}

MechanismInfo ToeplitzInfo(std::string name, std::string text, std::size_t max_dimensions) {
  return Masked(
      {std::move(name),
       std::move(text),
       "O(L log L m dv)",
       "gkat, Lemma 3.3 and Sec. 3.2; grf-replication, Sec. 8.1 (decay)",
       {"grid"},
       {Word("offsets", {"free", "l1_distance", "decay"},
             "free: b of every signed offset; l1_distance: f of the sum of |offset|; decay: "
             "|gamma|^sum, whatever the positivity, which is of b and f"),
        PositivityOption("abs"), Number("gamma", 0.9, 1e-6, 1, "decay: initial base"),
        Flag("causal", false, "tokens see themselves and those before them in row-major order")},
       nullptr},
      {AlwaysWays({Way::kDense, Way::kFastmult}),
       [max_dimensions](const Options& options, const AttentionInputs& inputs) {
         // Parameters are made before the mask, and may be as many as there are offsets.
         RequireOffsets(inputs.grid, max_dimensions);
         return ToeplitzParameters(options, inputs);
       },
       &ToeplitzMaskOf, nullptr, &RefuseCausalClassTokens});
}

OptionSpec TimeOption() {
  return Number("lambda", 1, 0, 1e6, "initial time of diffusion; large values flatten");
}

NamedTensors TimeParameters(const Options& options, const AttentionInputs& inputs) {
  return {{"lambda", PerHead(inputs, options.Real("lambda"))}};
}

torch::Tensor TimeOf(const AttentionInputs& inputs) { return inputs.parameters.at("lambda").abs(); }

}  // namespace

std::vector<MechanismInfo> GridMechanisms() {
  const auto ways = AlwaysWays({Way::kDense, Way::kFastmult});
  return {
      ToeplitzInfo("toeplitz_1d", "Relative positions of a sequence: M_ij = b[i - j].", 1),
      ToeplitzInfo("toeplitz_nd",
                   "Relative positions on a grid: M_ij = b of the difference of places along each "
                   "axis.",
                   kMaxGridSides),
      Masked({"tanh_distance",
              "M_ij = tanh(lambda)^(sum of |offset|): the heat kernel of hypercubes on any grid.",
              "O(L log L m dv)",
              "gkat, Sec. 4.1",
              {"grid"},
              {TimeOption()},
              nullptr},
             {ways, &TimeParameters,
              [](const Options&, const AttentionInputs& inputs) {
                RequireOffsets(inputs.grid, kMaxHypercubeSides);
                return MakeToeplitzMask(inputs.grid,
                                        PowersByDistance(at::tanh(TimeOf(inputs)), inputs.grid));
              }}),
      Masked({"gdk_grid",
              "Heat kernel exp(-lambda Laplacian) of a grid, or of a torus.",
              "O(L log L m dv)",
              "gkat, Sec. 4.1 (whose closed form holds on hypercubes alone)",
              {"grid"},
              {TimeOption(), Flag("torus", false, "the ends of an axis are neighbours")},
              nullptr},
             {ways, &TimeParameters,
              [](const Options& options, const AttentionInputs& inputs) {
                return MakeGridHeatMask(inputs.grid, TimeOf(inputs), options.IsSet("torus"));
              }}),
      Masked({"gdk_hypercube",
              "Heat kernel of a hypercube, a grid whose sides are all 2: ((1 + e^-2 lambda) / 2)^D "
              "tanh(lambda)^Hamming distance.",
              "O(L log L m dv)",
              "gkat, Sec. 4.1",
              {"grid"},
              {TimeOption()},
              nullptr},
             {ways, &TimeParameters,
              [](const Options&, const AttentionInputs& inputs) {
                for (const std::int64_t side : inputs.grid) {
                  if (side != 2) {
                    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, "grid", "sides of 2",
                                                   std::to_string(side)));
                  }
                }
                return MakeHypercubeHeatMask(static_cast<std::int64_t>(inputs.grid.size()),
                                             TimeOf(inputs));
              }}),
  };
}

}  // namespace interlacer::attention
