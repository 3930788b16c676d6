#pragma once

/// The neighbour structure of one step's tokens, shared by all local layers.
///
/// Built from positions alone: it does not depend on learned values and is a constant of the
/// backward pass. Errors: StatusException from the neighbour search. Threads: pure functions.
/// Source: GRF masking paper, App. C.3; HD-VPD (neighbour-attender).

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "model/config.h"
#include "model/ops/grf_attention_op.h"
#include "model/tokens.h"

namespace interlacer {

/// Message passing: a quarter of the tokens are anchors.
struct AnchorGraph {
  torch::Tensor anchors;    ///< [a] int64 tokens, ascending
  torch::Tensor neighbors;  ///< [a,k] int64 nearest other tokens of each anchor
  torch::Tensor others;     ///< [T-a] int64 tokens that are no anchors, ascending
  torch::Tensor closest;    ///< [T-a] int64 position in `anchors` of their closest anchor
};

struct TokenGraph {
  torch::Tensor positions_m;                   ///< [T,3]
  std::shared_ptr<const WalkMask> mask;        ///< grf_exact, grf_sampled
  std::shared_ptr<const AnchorGraph> anchors;  ///< message_passing
};

/// What the configured local layer needs. `seed` draws walks and anchors.
TokenGraph BuildTokenGraph(const InterlacerConfig& config, const TokenSet& tokens,
                           std::uint64_t seed);

/// Whether a device builds the configuration's graph without help from the host, so that a step can
/// be recorded.
bool BuildsGraphOnDevice(const InterlacerConfig& config);

}  // namespace interlacer
