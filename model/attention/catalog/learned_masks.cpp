// Masks that are free parameters of the model, or given as they are.

#include <ATen/Functions.h>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/masked.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/basic_masks.h"

namespace interlacer::attention {
namespace {

/// [H,L,r]: mean + deviation N(0,1), of `stream_part` for several tensors.
torch::Tensor NoisyTable(const Options& options, const AttentionInputs& inputs, double mean,
                         double deviation, std::uint32_t stream_part) {
  std::vector<torch::Tensor> heads;
  for (std::int64_t h = 0; h < inputs.heads(); ++h) {
    heads.push_back(NormalMatrix(static_cast<std::uint64_t>(options.Int("seed")),
                                 RandomStream::kWeightInit, static_cast<std::uint32_t>(h),
                                 stream_part, inputs.length(), options.Int("rank")));
  }
  return (at::stack(heads) * deviation + mean).to(inputs.q.scalar_type());
}

std::vector<OptionSpec> TableOptions(std::int64_t rank) {
  return {Integer("rank", rank, 1, 4096, "columns r of the parameters"),
          Integer("seed", 0, 0, INT64_MAX, "of all that is random")};
}

/// exp(p_i s_j), by random features of p and s.
MaskPtr ExponentialTableMask(const Options&, const AttentionInputs& inputs) {
  const torch::Tensor &p = inputs.parameters.at("p"), &s = inputs.parameters.at("s");
  const torch::Tensor& projection = inputs.parameters.at("mask_omega");
  const auto map = [&](const torch::Tensor& x) {
    return at::exp(at::matmul(x, projection.transpose(1, 2)) - 0.5 * (x * x).sum(2, true)) /
           std::sqrt(static_cast<double>(projection.size(1)));
  };
  return MakeFactorMask({map(p), map(s)});
}

}  // namespace

std::vector<MechanismInfo> LearnedMaskMechanisms() {
  const std::vector<Way> low_rank{Way::kDense, Way::kFastmult, Way::kFeatures};
  return {
      Masked({"learned_features",
              "M = |Phi Phi^T| with free features Phi of every token.",
              "O(L^2 (m + dv + rank))",
              "grf-masking, App. C.2 (fully learnable features)",
              {},
              TableOptions(10),
              nullptr},
             {AlwaysWays({Way::kDense}),
              [](const Options& options, const AttentionInputs& inputs) {
                // Without noise all columns would get equal gradients for ever.
                return NamedTensors{{"phi", NoisyTable(options, inputs, 1, 0.1, 1)}};
              },
              [](const Options&, const AttentionInputs& inputs) {
                const torch::Tensor& phi = inputs.parameters.at("phi");
                return MakeDenseMask(at::matmul(phi, phi.transpose(1, 2)).abs());
              }}),
      Masked({"lowrank_mask",
              "M = |M1| |M2|^T with free M1 and M2 of rank r.",
              "O(L r m dv)",
              "gkat, Sec. 3.4",
              {},
              TableOptions(8),
              nullptr},
             {AlwaysWays(low_rank),
              [](const Options& options, const AttentionInputs& inputs) {
                return NamedTensors{{"m1", NoisyTable(options, inputs, 1, 0.1, 2)},
                                    {"m2", NoisyTable(options, inputs, 1, 0.1, 3)}};
              },
              [](const Options&, const AttentionInputs& inputs) {
                return MakeFactorMask(
                    {inputs.parameters.at("m1").abs(), inputs.parameters.at("m2").abs()});
              }}),
      Masked({"softmax_pos",
              "M_ij = exp(p_i s_j) of learned vectors of places, by positive random features.",
              "O(L mask_features m dv)",
              "gkat, Sec. 3.4 (stochastic masks)",
              {},
              Joined({Integer("mask_features", 32, 1, 65536, "random features of the mask")},
                     TableOptions(8)),
              nullptr},
             {AlwaysWays(low_rank),
              [](const Options& options, const AttentionInputs& inputs) {
                RequireNumbers("mask_features",
                               static_cast<double>(options.Int("mask_features")) *
                                   static_cast<double>(options.Int("rank")),
                               1 << 20, "mask_features x rank");
                return NamedTensors{
                    {"p", NoisyTable(options, inputs, 0, 0.1, 4)},
                    {"s", NoisyTable(options, inputs, 0, 0.1, 5)},
                    {"mask_omega", RandomProjection(SeedOf(options, inputs) ^ 0x9E3779B97F4A7C15ull,
                                                    inputs.heads(), options.Int("mask_features"),
                                                    options.Int("rank"), true,
                                                    inputs.q.options().requires_grad(false))}};
              },
              &ExponentialTableMask}),
  };
}

}  // namespace interlacer::attention
