#pragma once

/// The structure of message passing: some tokens are anchors, which gather from their nearest
/// tokens, and the others follow their closest anchor.
///
/// Anchors' neighbours come from the configured index (graph.index). So does the closest anchor of
/// most others, the first among their neighbours; where there is none it is found by all distances.
/// A constant of the backward pass. Errors: as model/graph/token_neighbors.h. Threads:
/// pure functions. Source: hd-vpd (neighbour-attender).

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "model/clouds.h"
#include "model/config.h"

namespace interlacer {

/// Message passing: a quarter of the tokens are anchors.
struct AnchorGraph {
  torch::Tensor anchors;    ///< [a] int64 tokens, ascending
  torch::Tensor neighbors;  ///< [a,k] int64 nearest other tokens of each anchor
  torch::Tensor others;     ///< [T-a] int64 tokens that are no anchors, ascending
  /// [T-a] int64 position in `anchors` of their closest anchor. With a graph for each time nearest
  /// and closest are of one time; tokens of a time that drew no anchor take any other time's.
  torch::Tensor closest;
};

std::shared_ptr<const AnchorGraph> BuildAnchors(const InterlacerConfig& config,
                                                const TokenSet& tokens, std::uint64_t seed);

}  // namespace interlacer
