#pragma once

/// The neighbour structure of one step's tokens, shared by all local layers.
///
/// Built from positions alone: it does not depend on learned values and is a constant of the
/// backward pass. Errors: StatusException from the neighbour search. Threads: pure functions.
/// Source: grf-masking, App. C.3; hd-vpd (neighbour-attender).

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "common/status.h"
#include "model/clouds.h"
#include "model/config.h"
#include "model/graph/anchors.h"
#include "model/ops/walk_mask.h"

namespace interlacer {

/// Out-edges in CSR form, for a mechanism of the attention library.
struct TokenEdges {
  torch::Tensor offsets;    ///< [T+1] int64
  torch::Tensor neighbors;  ///< [E] int64
  torch::Tensor weights;    ///< [E] float32; undefined for EdgeWeight::kUniform
};

struct TokenGraph {
  torch::Tensor positions_m;                   ///< [T,3]
  std::shared_ptr<const WalkMask> mask;        ///< grf_exact, grf_sampled
  std::shared_ptr<const AnchorGraph> anchors;  ///< message_passing
  const CudaBackend* cuda = nullptr;           ///< where the step runs; null on the host
  /// Beside a mechanism of the attention library in that layer.
  std::shared_ptr<const TokenEdges> global_edges = nullptr, local_edges = nullptr;
};

/// Builds what the configured local layer needs; `seed` draws walks and anchors.
using GraphForm = std::function<TokenGraph(const TokenSet& tokens, std::uint64_t seed)>;

/// The form of a model's graphs, chosen once; `cuda` must outlive it and is null on the host.
GraphForm BindTokenGraph(const InterlacerConfig& config, const CudaBackend* cuda);

}  // namespace interlacer
