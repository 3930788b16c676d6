#pragma once

/// Splits rows for the fused kernels: tasks of fixed size, divided into chunks that stay in the L2
/// cache together with everything computed from them.

#include <algorithm>
#include <cstdint>

#include "model/kernels/fused_dense_rows.h"

namespace interlacer {

inline constexpr std::int64_t kFusedRowsOfATask = 8 * kFusedChunkRows;

inline constexpr std::int64_t FusedTaskCount(std::int64_t n) {
  return (n + kFusedRowsOfATask - 1) / kFusedRowsOfATask;
}

/// Calls body(first row, rows) on chunks of at most kFusedChunkRows rows of [begin, end).
template <typename Body>
void ForEachFusedChunk(std::int64_t begin, std::int64_t end, const Body& body) {
  for (std::int64_t row = begin; row < end; row += kFusedChunkRows) {
    body(row, static_cast<int>(std::min<std::int64_t>(kFusedChunkRows, end - row)));
  }
}

}  // namespace interlacer
