#pragma once

/// The graph of message passing: some tokens are anchors, which gather from their nearest tokens;
/// all other tokens follow their closest anchor.
///
/// The neighbours of anchors come from the configured index (graph.index). The closest anchor of
/// most other tokens is the first anchor among their neighbours; for the rest all distances are
/// compared. The graph is a constant of the backward pass. Errors: as
/// model/graph/token_neighbors.h. Threads: pure functions. Source: hd-vpd (neighbour-attender).

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "model/clouds.h"
#include "model/config.h"

namespace interlacer {

struct CudaBackend;

/// Index tensors of message passing; a quarter of the tokens are anchors.
struct AnchorGraph {
  torch::Tensor anchors;    ///< [a] int64 tokens, ascending
  torch::Tensor neighbors;  ///< [a,k] int64 nearest other tokens of each anchor
  torch::Tensor others;     ///< [T-a] int64 all other tokens, ascending
  /// [T-a] int64 position in `anchors` of their closest anchor. With a graph for each time nearest
  /// and closest tokens belong to one time; a time without anchors uses those of any other time.
  torch::Tensor closest;
};

/// `nearest` [T,k] int32 are the nearest other tokens of every token.
std::shared_ptr<const AnchorGraph> BuildAnchors(const InterlacerConfig& config,
                                                const TokenSet& tokens,
                                                const torch::Tensor& nearest, std::uint64_t seed,
                                                const CudaBackend* cuda);

}  // namespace interlacer
