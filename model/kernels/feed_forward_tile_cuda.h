#pragma once

/// The feed-forward layers on the rows of a warp, for kernels that have more to do with them. Only
/// .cu files include it.

#include <cstdint>

#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/dense_tile_cuda.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/gelu.h"

namespace interlacer {

/// Pieces of two layers of which the second takes what the first gives.
template <int kWidth, int kPiece = kDensePiece>
using PairStream = WeightStream<2 * kWidth * kPiece / 8, DenseBlock<kWidth>::kThreads>;

template <int kSteps>
struct RegisterLeft {
  std::uint32_t steps[kSteps][4];

  __device__ void operator()(int step, std::uint32_t (&left)[4]) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) left[r] = steps[step][r];
  }
};

/// h += second(GELU(first(LN h)))
template <int kWidth>
__device__ inline void AddFeedForwardTiles(const FeedForwardLayers& layers, const SharedLeft& left,
                                           uint4* shared, RowTiles<kWidth>& h) {
  constexpr int kTiles = kDensePiece / 8;
  NormTiles<kWidth>(h, layers.norm, left);
  AddBias(layers.second_bias, h);
  const int pieces = layers.hidden_width / kDensePiece;
  PairStream<kWidth> stream(reinterpret_cast<const uint4*>(layers.packed), pieces, shared);
#pragma unroll 1
  for (int piece = 0; piece < pieces; ++piece) {
    const uint4* const weights = stream.Next();
    float hidden[kTiles][4] = {};
    MultiplyTiles<kWidth>([&](int step, std::uint32_t(&to)[4]) { left.Get(step, to); }, weights,
                          hidden);
    AddBias(layers.first_bias + piece * kDensePiece, hidden);
    RegisterLeft<kTiles / 2> active;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int x = 0; x < 4; ++x) hidden[j][x] = Gelu(hidden[j][x]);
    }
#pragma unroll
    for (int step = 0; step < kTiles / 2; ++step) {
      RoundTiles(hidden[2 * step], hidden[2 * step + 1], active.steps[step]);
    }
    MultiplyTiles<kDensePiece>(active, weights + kWidth * kDensePiece / 8, h);
  }
}

}  // namespace interlacer
