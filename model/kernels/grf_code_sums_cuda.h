#pragma once

/// Gradients of the walk weights by path-count code: sums of the pairs' gradients in a fixed order.
/// Only .cu files include it.

#include <cstdint>

#include "common/kernels/launch.h"
#include "model/kernels/grf_attention.h"

namespace interlacer {

inline constexpr int kCodeThreads = kWalkCodes;
inline constexpr int kCodeWarps = kCodeThreads / kWarpLanes;
/// Rows whose weight gradients one block sums, and one of its warps.
inline constexpr std::int64_t kRowsPerChunk = 256;
inline constexpr std::int64_t kRowsPerWarp = kRowsPerChunk / kCodeWarps;

inline std::int64_t CodeChunks(std::int64_t n) { return (n + kRowsPerChunk - 1) / kRowsPerChunk; }

/// Each block sums the pairs' gradients of a chunk of rows by path-count code: each warp adds its
/// pairs in order, 32 at a time, and the first lane with a code adds for all lanes with that code.
/// Bound: latency of each warp's chain of matches and updates of its table.
/// Block: one thread for each of 256 codes, which adds up the tables of 8 warps with 32 rows each.
/// Layout: pairs in row order; a table of 256 sums for each warp in shared memory.
inline __global__ void CodeSumsKernel(std::int64_t n, GrfPackedPairs<float> pairs,
                                      const float* pair_grads, float* chunk_sums) {
  __shared__ float tables[kCodeWarps][kWalkCodes];
  __shared__ float values[kCodeWarps][kWarpLanes];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int code = lane; code < kWalkCodes; code += kWarpLanes) tables[warp][code] = 0;
  const std::int64_t row = blockIdx.x * kRowsPerChunk + warp * kRowsPerWarp;
  const std::int64_t row_begin = row < n ? row : n;
  const std::int64_t row_end = row + kRowsPerWarp < n ? row + kRowsPerWarp : n;
  const std::int64_t end = pairs.offsets[row_end];
  __syncwarp();
  for (std::int64_t first = pairs.offsets[row_begin]; first < end; first += kWarpLanes) {
    const std::int64_t e = first + lane;
    const bool present = e < end;
    const unsigned code = present ? pairs.entries[e] >> kWalkCodeShift : kWalkCodes;
    values[warp][lane] = present ? pair_grads[e] : 0;
    const unsigned alike = __match_any_sync(kWholeWarp, code);
    __syncwarp();
    if (present && (alike & ((1u << lane) - 1)) == 0) {
      float sum = tables[warp][code];
      for (unsigned rest = alike; rest != 0; rest &= rest - 1) {
        sum += values[warp][__ffs(static_cast<int>(rest)) - 1];
      }
      tables[warp][code] = sum;
    }
    __syncwarp();
  }
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kCodeWarps; ++w) sum += tables[w][threadIdx.x];
  chunk_sums[static_cast<std::int64_t>(blockIdx.x) * kWalkCodes + threadIdx.x] = sum;
}

/// Adds up the chunks' sums.
/// Bound: latency of reads, one chunk after the other.
/// Block: a single one with a thread for each code, so that the order of sums is fixed.
/// Layout: chunk_sums is [chunk, code], so that neighbouring threads read neighbouring numbers.
inline __global__ void CodeTotalsKernel(std::int64_t chunks, const float* chunk_sums,
                                        float* totals) {
  double sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    sum += chunk_sums[chunk * kWalkCodes + threadIdx.x];
  }
  totals[threadIdx.x] = static_cast<float>(sum);
}

/// Writes totals [kWalkCodes] from pair_grads [pairs]; chunk_sums [CodeChunks(n), kWalkCodes] is
/// scratch.
inline CudaError LaunchCodeSums(std::int64_t n, const GrfPackedPairs<float>& pairs,
                                const float* pair_grads, float* chunk_sums, float* totals,
                                CudaStream stream) {
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(CodeSumsKernel, CodeChunks(n), kCodeThreads, stream,
                                               n, pairs, pair_grads, chunk_sums));
  return LaunchBlocks(CodeTotalsKernel, 1, kWalkCodes, stream, CodeChunks(n), chunk_sums, totals);
}

}  // namespace interlacer
