#pragma once

/// The feed-forward layers applied to the rows that a warp holds in registers, as a part of larger
/// kernels. Only .cu files include it.

#include <cstdint>

#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/dense_product_cuda.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/gelu.h"

namespace interlacer {

/// Streams two consecutive layers, packed together by LaunchPackDensePair.
template <int kWidth, int kPiece = kDensePiece>
using PairStream = WeightStream<2 * kWidth * kPiece / 8, DenseBlock<kWidth>::kThreads>;

template <int kRowTiles, int kSteps>
struct RegisterLeft {
  std::uint32_t tiles[kRowTiles][kSteps][4];

  __device__ void operator()(int r, int step, std::uint32_t (&left)[4]) const {
#pragma unroll
    for (int x = 0; x < 4; ++x) left[x] = tiles[r][step][x];
  }
};

/// h += second(GELU(first(LN h)))
template <int kWidth, int kRowTiles>
__device__ inline void AddFeedForwardTiles(const FeedForwardLayers& layers,
                                           const WarpLeft<kWidth, kRowTiles>& left, uint4* shared,
                                           RowTiles<kWidth> (&h)[kRowTiles]) {
  constexpr int kTiles = kDensePiece / 8;
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    NormTiles<kWidth>(h[r], layers.norm, left.Tile(r));
    AddBias(layers.second_bias, h[r]);
  }
  const int pieces = layers.hidden_width / kDensePiece;
  PairStream<kWidth> stream(reinterpret_cast<const uint4*>(layers.packed), pieces, shared);
#pragma unroll 1
  for (int piece = 0; piece < pieces; ++piece) {
    const uint4* const weights = stream.Next();
    float hidden[kRowTiles][kTiles][4] = {};
    MultiplyTiles<kWidth>(left, weights, hidden);
    RegisterLeft<kRowTiles, kTiles / 2> active;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      AddBias(layers.first_bias + piece * kDensePiece, hidden[r]);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int x = 0; x < 4; ++x) hidden[r][j][x] = Gelu(hidden[r][j][x]);
      }
#pragma unroll
      for (int step = 0; step < kTiles / 2; ++step) {
        RoundTiles(hidden[r][2 * step], hidden[r][2 * step + 1], active.tiles[r][step]);
      }
    }
    MultiplyTiles<kDensePiece>(active, weights + kWidth * kDensePiece / 8, h);
  }
}

}  // namespace interlacer
