#include <algorithm>
#include <utility>

#include "model/attention/catalog/catalog.h"

namespace interlacer::attention {
namespace {

/// Of `interlacer experiment masks -o DIR --pages overtaking`, five runs (one with --limit 1, four
/// with --limit 0.06, three of which with --longest 4096) on one thread of an AMD EPYC of Zen 3
/// with AVX2: the longest of the lengths 16, 32, 64, ... at which dense took at most 4/5 of the
/// time of every other way in all runs that came so far. A way that took too long to be measured at
/// a length counts with its time at the longest shorter one.
constexpr std::pair<std::string_view, DenseLengths> kMeasured[] = {
    {"linear_relu", {0, 0}},
    {"linear_elu1", {0, 0}},
    {"linear_square", {0, 0}},
    {"favor_pos", {0, 0}},
    {"rfa_gaussian", {0, 0}},
    {"rfa_arccos", {0, 0}},
    {"linear_causal", {256, 256}},
    {"rfa_gated", {0, 0}},
    {"rfa_self_gated", {0, 0}},
    {"padding", {0, 0}},
    {"packing", {0, 128}},
    {"lowrank_mask", {0, 64}},
    {"softmax_pos", {0, 128}},
    {"toeplitz_1d", {16, 4096}},
    {"toeplitz_nd", {0, 4096}},
    {"tanh_distance", {64, 4096}},
    {"gdk_grid", {0, 256}},
    {"gdk_hypercube", {64, 4096}},
    {"tree_affine", {0, 512}},
    {"tree_any", {256, 4096}},
    {"fastmult", {0, 0}},
    {"malpha_dense", {0, 128}},
    {"named_kernel", {0, 2048}},
    {"gdk", {0, 256}},
    {"heat", {0, 128}},
    {"gat_mask", {0, 0}},
    {"centrality", {0, 0}},
    {"jlt", {0, 128}},
    {"grf_sym", {0, 128}},
    {"grf_asym", {0, 0}},
    {"grf_exact", {0, 0}},
    {"grf_adhoc", {0, 0}},
    {"rwgnk", {0, 256}},
    {"gkat0", {0, 0}},
    {"gkat", {0, 0}},
    {"gkat_dynamic", {64, 256}},
    {"gat", {0, 0}},
    {"gcn", {0, 0}},
    {"sgc", {0, 0}},
    {"flt_gm", {0, 0}},
    {"flt_shift_invariant", {0, 0}},
    {"flt_local", {0, 0}},
    {"flt_local_nd", {0, 0}},
    {"flt_local_smooth", {0, 0}},
    {"flt_gauss3d", {0, 0}},
    {"factor", {0, 0}},
    {"spe_conv", {0, 0}},
    {"spe_sine", {0, 0}},
    {"smooth_a", {0, 0}},
    {"smooth_b", {0, 256}},
};

}  // namespace

std::optional<DenseLengths> MeasuredDenseLengths(std::string_view mechanism) {
  const auto* found =
      std::find_if(std::begin(kMeasured), std::end(kMeasured),
                   [&](const auto& measured) { return measured.first == mechanism; });
  return found == std::end(kMeasured) ? std::nullopt : std::optional(found->second);
}

}  // namespace interlacer::attention
