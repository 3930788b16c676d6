#pragma once

/// Nearest other tokens of each token, among all times or within its own time: on the host by the
/// configured index, on a device by the exact grid. A row's order is (squared distance in float32,
/// index).
///
/// The result is a constant of the backward pass. Errors: StatusException from the neighbour
/// search, and INVALID_ARGUMENT naming graph.scope where a time has too few tokens. Threads: pure
/// functions.

#include <torch/types.h>

#include <vector>

#include "knn/knn_graph.h"
#include "model/clouds.h"
#include "model/config.h"

namespace interlacer {

struct CudaBackend;

/// Tokens of each time: visual and kinematic of t-2, of t-1, kinematic of t.
std::vector<torch::Tensor> TokensByTime(const TokenSet& tokens);

/// The `k` nearest other rows of every row of [n,3] on the host (knn/knn_index.h).
KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k,
                       KnnBackend index = KnnBackend::kGrid);

/// The graph on the host with the scope and index of `graph`; `k` is its own, or that of anchors.
KnnGraph GraphOnHost(const TokenSet& tokens, int k, const GraphConfig& graph);
/// The graph on a device. [T,k] int32
torch::Tensor GraphOnDevice(const CudaBackend& cuda, const TokenSet& tokens, int k,
                            GraphScope scope);

}  // namespace interlacer
