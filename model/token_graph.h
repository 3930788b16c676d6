#pragma once

/// The neighbour structure of one step's tokens, shared by all local layers.
///
/// Built from positions alone: it does not depend on learned values and is a constant of the
/// backward pass. Errors: StatusException from the neighbour search. Threads: pure functions.
/// Source: GRF masking paper, App. C.3; HD-VPD (neighbour-attender).

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "common/status.h"
#include "knn/knn_graph.h"
#include "model/config.h"
#include "model/ops/grf_attention_op.h"
#include "model/tokens.h"

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

struct TokenGraph {
  torch::Tensor positions_m;                   ///< [T,3]
  std::shared_ptr<const WalkMask> mask;        ///< grf_exact, grf_sampled
  std::shared_ptr<const AnchorGraph> anchors;  ///< message_passing
};

/// The `k` nearest other rows of every row of [n,3] on the host (exact grid, knn/knn_index.h).
KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k);

/// What the configured local layer needs. `seed` draws walks and anchors.
TokenGraph BuildTokenGraph(const InterlacerConfig& config, const TokenSet& tokens,
                           std::uint64_t seed);

/// UNIMPLEMENTED FEATURE_NOT_BUILT, naming the key, where a device leaves the configuration's graph
/// to the host and waits for it, so that a step cannot be recorded: exact walks over symmetrised
/// edges, whose rows have no bound, over many weighted edges, or more walks or neighbours of an
/// anchor than a kernel holds.
Status CheckDeviceGraph(const InterlacerConfig& config);

}  // namespace interlacer
