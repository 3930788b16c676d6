#pragma once

/// Nearest other tokens, of all times or of each time apart, on the host and on a device: a row a
/// token, by (squared distance in float32, index).
///
/// Constants of the backward pass. Errors: StatusException from the neighbour search, and
/// INVALID_ARGUMENT naming graph.scope where a time has too few tokens. Threads: pure functions.

#include <torch/types.h>

#include <vector>

#include "knn/knn_graph.h"
#include "model/clouds.h"
#include "model/config.h"

namespace interlacer {

/// Tokens of each time: visual and kinematic of t-2, of t-1, kinematic of t.
std::vector<torch::Tensor> TokensByTime(const TokenSet& tokens);

/// The `k` nearest other rows of every row of [n,3] on the host (exact grid, knn/knn_index.h).
KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k);

KnnGraph GraphOnHost(const TokenSet& tokens, int k, GraphScope scope);
/// [T,k] int32
torch::Tensor GraphOnDevice(const TokenSet& tokens, int k, GraphScope scope);

}  // namespace interlacer
