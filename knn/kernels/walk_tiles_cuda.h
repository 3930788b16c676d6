#pragma once

/// The distinct end nodes of every tile of consecutive roots of walk lists, on CUDA. The attention
/// kernel of a tile loads the row of each such node into shared memory once.
///
/// Tile t holds the roots kWalkTileRoots * t and on; its rows and places stand where its entries
/// stand, from offsets[kWalkTileRoots * t] on, so that shapes are fixed and nothing is counted
/// beforehand. Rows are in the order of their first entry: equal bytes for any timing of threads.
/// Pointers, streams and errors as knn/kernels/walk_lists_cuda.h.

#include <cstdint>

#include "knn/kernels/walk_lists_cuda.h"

namespace interlacer {

inline constexpr std::int64_t kWalkTileRoots = 128;

inline constexpr std::int64_t WalkTileCount(std::int64_t n) {
  return (n + kWalkTileRoots - 1) / kWalkTileRoots;
}

struct WalkTilesDevice {
  std::int32_t* row_counts = nullptr;  ///< [tiles]
  std::int32_t* rows = nullptr;        ///< [n * kMaxWalkRowSize], nodes
  std::uint16_t* places = nullptr;     ///< [n * kMaxWalkRowSize], of each entry's node in its rows
};

/// Tiles of what LaunchWalkLists wrote: at most kMaxWalkRowSize entries a root.
int LaunchWalkTiles(std::int64_t n, const std::int32_t* offsets_device,
                    const std::uint32_t* entries_device, const WalkTilesDevice& tiles,
                    void* stream);

}  // namespace interlacer
