#pragma once

/// Masks of tokens on a forest that depend on the distance in it; 0 between trees.
///
///   affine: M_ij = exp(a dist + b), edges with lengths: O(L) for a column, two passes
///   any f: M_ij = f[dist] of whole hops. By centroids O(L log^2 L), by histograms O(L diameter)
///   for
///     a column
/// a, b [H]; f [H,D] with D above the largest number of hops. Products are in float64. Dense
/// measures distances by a search from every token. Gradients in a, b, f and x; those of the affine
/// product and of histograms are of first order only. Errors: StatusException OUT_OF_RANGE at
/// "parameters.slope" where exp(a dist + b) has no value. Thread-safety: const. Source: gkat,
/// Lemma 3.5 (with e^{aW} where e^W is printed), Lemma 6.1 (by centroids in place of its
/// separators) and Lemma 6.2 (with the histogram of the whole tree).

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "model/attention/core/inputs.h"
#include "model/attention/core/mask.h"

namespace interlacer::attention {

struct Forest {
  std::vector<std::int64_t> parents;  ///< -1 at roots
  std::vector<double> lengths;        ///< of the edges to the parents
  torch::Tensor length_tensor;        ///< the same, float64 [L], with the input's gradient
  std::vector<std::int64_t> order;    ///< parents before children
  std::vector<std::int64_t> child_offsets, children;

  std::int64_t size() const { return static_cast<std::int64_t>(parents.size()); }
};

/// Of inputs that passed CheckInputs.
Forest ForestOf(const AttentionInputs& inputs);
/// Largest number of hops between two tokens of a tree, over all trees.
std::int64_t DiameterOf(const Forest& forest);
/// Distances [L,L] float64 with a gradient to edge lengths, -1 between trees.
torch::Tensor TreeLengths(const Forest& forest);
/// Distances [L,L] float64 by searches, -1 between trees; `is_hops`: edges count 1 each.
torch::Tensor TreeDistances(const Forest& forest, bool is_hops);

MaskPtr MakeAffineTreeMask(Forest forest, torch::Tensor slope, torch::Tensor offset);

/// Largest L (diameter + 1) of the algorithm by histograms, whose memory that is.
inline constexpr std::int64_t kMaxHistogramEntries = std::int64_t{1} << 26;

enum class TreeAlgorithm { kCentroid, kDiameter };
bool FitsHistograms(const Forest& forest);
/// The one with fewer operations, of those that fit.
TreeAlgorithm ChooseTreeAlgorithm(const Forest& forest);
/// RESOURCE_EXHAUSTED HOST_MEMORY at "options.algorithm" for kDiameter beyond that.
MaskPtr MakeTreeMask(Forest forest, torch::Tensor f, TreeAlgorithm algorithm);

}  // namespace interlacer::attention
