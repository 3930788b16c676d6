#include "model/attention/catalog/mask_bounds.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/number_text.h"
#include "model/attention/catalog/walk_masks.h"
#include "model/attention/masks/graph.h"
#include "model/graph/walk_bounds.h"
#include "model/runtime/torch_errors.h"

namespace interlacer::attention {

StatusOr<MaskBounds> BoundsOf(const Attention& grf_sym, const AttentionInputs& inputs, double error,
                              double probability) {
  if (!(error > 0) || !std::isfinite(error)) {
    return Mismatch(reason::ARGUMENT_INVALID, "error", "a number above 0", NumberText(error));
  }
  if (!(probability > 0 && probability < 1)) {
    return Mismatch(reason::ARGUMENT_INVALID, "probability", "a number between 0 and 1",
                    NumberText(probability));
  }
  INTERLACER_ASSIGN_OR_RETURN(const torch::Tensor f, grf_sym.Parameter(inputs, "f"));
  const Options& options = grf_sym.options();
  const LengthLaw law = LengthLawOf(options);
  WalkSamplerOptions walks;
  walks.walk_count = static_cast<int>(options.Int("walks"));
  walks.max_hops = static_cast<int>(options.Int("hops"));
  walks.halt_probability = options.Real("halt_probability");
  std::vector<double> shares;
  for (int t = 0; t <= walks.max_hops; ++t) shares.push_back(ShareOfWalks(law, walks, t));
  MaskBounds bounds;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const Graph graph = SymmetricGraphOf(options, inputs.Placed(options.Int("class_tokens")));
        const torch::Tensor counts = DegreesOf({graph.pattern, at::ones_like(graph.weights)});
        const torch::Tensor hops =
            graph.weights.squeeze(0).abs() * counts.index_select(0, RowsOf(*graph.pattern));
        const double widest = hops.numel() > 0 ? hops.max().item<double>() : 0;
        for (std::size_t t = 1; t < shares.size() && shares[t] > 0; ++t) {
          bounds.largest_step_load =
              std::max(bounds.largest_step_load, widest * shares[t - 1] / shares[t]);
        }
        const torch::Tensor used =
            (options.Is("positive", "softplus") ? at::softplus(f) : f).to(at::kDouble).contiguous();
        for (std::int64_t h = 0; h < used.size(0); ++h) {
          const double* row = used[h].const_data_ptr<double>();
          std::vector<double> over_shares;
          for (std::size_t t = 0; t < shares.size(); ++t) {
            over_shares.push_back(row[t] == 0 ? 0 : row[t] / shares[t]);
          }
          bounds.load_norm = std::max(bounds.load_norm, LoadNorm(over_shares, widest));
        }
        return Status::Ok();
      },
      "bounds of walks"));
  const int suffice = WalksForBound(error, probability, bounds.load_norm);
  if (suffice < std::numeric_limits<int>::max()) bounds.walks = suffice;
  const double nodes =
      law == LengthLaw::kGeometric
          ? std::min(VisitedNodesBound(probability, walks.walk_count, walks.halt_probability),
                     static_cast<double>(shares.size()))
          : VisitedNodesBound(probability, walks.walk_count, shares);
  bounds.entries = walks.walk_count * static_cast<std::int64_t>(nodes);
  return bounds;
}

}  // namespace interlacer::attention
