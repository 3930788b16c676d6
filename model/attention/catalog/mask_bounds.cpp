#include "model/attention/catalog/mask_bounds.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/number_text.h"
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
  const double halts = options.Real("halt_probability");
  MaskBounds bounds;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const Graph graph =
            MaskGraphOf(inputs.Placed(options.Int("class_tokens")), options.Chosen("degrees"));
        const torch::Tensor counts = DegreesOf({graph.pattern, at::ones_like(graph.weights)});
        const torch::Tensor loads =
            graph.weights.squeeze(0).abs() * counts.index_select(0, RowsOf(*graph.pattern));
        if (loads.numel() > 0) bounds.largest_step_load = loads.max().item<double>() / (1 - halts);
        const torch::Tensor used =
            (options.Is("positive", "softplus") ? at::softplus(f) : f).to(at::kDouble).contiguous();
        for (std::int64_t h = 0; h < used.size(0); ++h) {
          const double* row = used[h].const_data_ptr<double>();
          bounds.load_norm = std::max(
              bounds.load_norm,
              LoadNorm({row, static_cast<std::size_t>(used.size(1))}, bounds.largest_step_load));
        }
        return Status::Ok();
      },
      "bounds of walks"));
  const int walks = WalksForBound(error, probability, bounds.load_norm);
  if (walks < std::numeric_limits<int>::max()) bounds.walks = walks;
  if (halts > 0) {
    const auto count = static_cast<int>(options.Int("walks"));
    const auto most = static_cast<double>(options.Int("hops") + 1);
    bounds.entries = count * static_cast<std::int64_t>(
                                 std::min(VisitedNodesBound(probability, count, halts), most));
  }
  return bounds;
}

}  // namespace interlacer::attention
