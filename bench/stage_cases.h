#pragma once

/// Common parts of a stage's cases on all platforms: stage, name, sizes, parameters and floor.
/// Names begin with `prefix`: the stage, then the device or the form. Pure functions.

#include <string>

#include "bench/case.h"
#include "bench/options.h"
#include "knn/knn_graph.h"
#include "render/renderer.h"

namespace interlacer::bench {

/// Number of out-edges of a token in all graphs.
inline constexpr int kGraphNeighbors = 3;
/// Number of heads of linear attention.
inline constexpr int kLinearHeads = 4;

Case KnnCase(const std::string& prefix, const Options& options);
Case WalksCase(const std::string& prefix, const Options& options, const KnnGraph& graph,
               const WalkLists& lists);
Case GrfAttentionCase(const std::string& prefix, const Options& options, std::int64_t pair_count);
Case LinearAttentionCase(const std::string& prefix, const Options& options);
Case RenderCase(const std::string& prefix, const Options& options, const RendererConfig& config);

}  // namespace interlacer::bench
