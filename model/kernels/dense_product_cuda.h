#pragma once

/// Multiplies the rows of a warp (model/kernels/dense_tile_cuda.h) by weights that all warps of a
/// block share, and double-buffers these weights in shared memory. Only .cu files include it.

#include <cstdint>

#include "common/kernels/block_memory.h"
#include "model/kernels/dense_tile_cuda.h"

namespace interlacer {

/// sums += left * weights: kInputs columns of the left side by kTiles tiles of results, for
/// kRowTiles tiles of rows. left(r, step) fills in 16 columns; weights are packed by 32 inputs and
/// tile (model/kernels/dense_pack_cuda.h). kAtOnce times 32 inputs are loaded ahead, as many as
/// registers allow; with more rows there is more arithmetic to hide each load.
template <int kInputs, int kAtOnce = 4, int kRowTiles, int kTiles, typename Left>
__device__ inline void MultiplyTiles(const Left& left, const uint4* weights,
                                     float (&sums)[kRowTiles][kTiles][4]) {
  [[maybe_unused]] constexpr int kUnroll = kRowTiles == 1 ? 1 : kAtOnce;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll kUnroll
  for (int pair = 0; pair < kInputs / 32; ++pair) {
    std::uint32_t low[kRowTiles][4], high[kRowTiles][4];
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      left(r, 2 * pair, low[r]);
      left(r, 2 * pair + 1, high[r]);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint4 w = weights[(pair * kTiles + tile) * kWarpLanes + lane];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) MultiplyAdd(sums[r][tile], low[r], w.x, w.y);
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) MultiplyAdd(sums[r][tile], high[r], w.z, w.w);
    }
  }
}

/// Double buffering of weights in shared memory: while the block uses one piece, the next one is
/// copied. Every thread of the block must make the same calls.
template <int kPieceVectors, int kThreads>
class WeightStream {
 public:
  static constexpr int kSharedVectors = 2 * kPieceVectors;

  /// `shared` may have been in use before; the constructor synchronises the block.
  __device__ WeightStream(const uint4* weights, int pieces, uint4* shared)
      : weights_(weights), pieces_(pieces), shared_(shared) {
    __syncthreads();
    Begin(0);
  }

  /// Waits for the next piece and returns it; the previous one becomes invalid.
  __device__ const uint4* Next() {
    AwaitCopies();
    __syncthreads();
    if (next_ + 1 < pieces_) Begin(next_ + 1);
    return shared_ + next_++ % 2 * kPieceVectors;
  }

 private:
  __device__ void Begin(int piece) {
    const int me = static_cast<int>(threadIdx.x);
    uint4* const to = shared_ + piece % 2 * kPieceVectors + me;
    const uint4* const from = weights_ + static_cast<std::int64_t>(piece) * kPieceVectors + me;
#pragma unroll
    for (int x = 0; x < kPieceVectors; x += kThreads) {
      if (x + kThreads <= kPieceVectors || x + me < kPieceVectors) BeginCopy16(to + x, from + x);
    }
  }

  const uint4* weights_;
  int pieces_;
  uint4* shared_;
  int next_ = 0;
};

}  // namespace interlacer
