#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "model/kernels/dense_pack_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kTileOutputs = 8;
constexpr int kStepInputs = 32;
constexpr int kLeftSide = 16;

/// Each thread writes the 16 bytes of one lane.
/// Bound: memory, 32 bytes read and 16 written; it runs only when a weight has changed.
/// Block: nothing is shared, so the size only has to fill whole warps.
/// Layout: writes are contiguous; a warp reads pairs of 8 outputs by 32 inputs.
__global__ void PackKernel(DenseWeight dense, DenseLayout layout, std::int64_t count,
                           uint4* packed) {
  const std::int64_t x = GlobalThread();
  if (x >= count) return;
  const int lane = static_cast<int>(x % kWarpLanes);
  const int tiles = dense.out_width / kTileOutputs;
  const int tile = static_cast<int>(x / kWarpLanes % tiles);
  const int step = static_cast<int>(x / kWarpLanes / tiles);
  const float* const from =
      dense.weight + static_cast<std::int64_t>(kTileOutputs * tile + lane / 4) * dense.in_width +
      kStepInputs * step + 2 * (lane % 4);
  const int place = layout.first_tile + layout.tile_stride * tile;
  const std::int64_t piece = place / layout.tiles_of_piece + step / layout.steps_of_piece;
  const int block =
      step % layout.steps_of_piece * layout.tiles_of_piece + place % layout.tiles_of_piece;
  packed[piece * layout.piece_vectors + layout.offset + block * kWarpLanes + lane] =
      uint4{RoundPair(from[0], from[1]), RoundPair(from[8], from[9]), RoundPair(from[16], from[17]),
            RoundPair(from[24], from[25])};
}

/// Packs weights for the left side of a product.
/// Bound, block: as PackKernel.
/// Layout: writes are contiguous; a warp reads pairs of 16 outputs by 16 inputs.
__global__ void PackTransposedKernel(DenseWeight dense, std::int64_t count, uint4* packed) {
  const std::int64_t x = GlobalThread();
  if (x >= count) return;
  const int lane = static_cast<int>(x % kWarpLanes);
  const int tiles = dense.out_width / kLeftSide;
  const int tile = static_cast<int>(x / kWarpLanes % tiles);
  const int step = static_cast<int>(x / kWarpLanes / tiles);
  const float* const upper =
      dense.weight + static_cast<std::int64_t>(kLeftSide * tile + lane / 4) * dense.in_width +
      kLeftSide * step + 2 * (lane % 4);
  const float* const lower = upper + std::int64_t{8} * dense.in_width;
  packed[x] = uint4{RoundPair(upper[0], upper[1]), RoundPair(lower[0], lower[1]),
                    RoundPair(upper[8], upper[9]), RoundPair(lower[8], lower[9])};
}

bool Fits(const DenseWeight& dense) {
  return dense.in_width > 0 && dense.out_width > 0 && dense.in_width % kStepInputs == 0 &&
         dense.out_width % kStepInputs == 0;
}

/// Number of 16-byte vectors in a block of 32 inputs and `outputs` outputs.
int StepVectors(int outputs) { return outputs / kTileOutputs * kWarpLanes; }

DenseLayout ByOutputs(int in_width, int outputs) {
  const int steps = in_width / kStepInputs;
  return {steps * StepVectors(outputs), 0, outputs / kTileOutputs, steps};
}

DenseLayout ByInputs(int inputs, int out_width) {
  const int steps = inputs / kStepInputs;
  return {steps * StepVectors(out_width), 0, out_width / kTileOutputs, steps};
}

}  // namespace

CudaError LaunchPackDense(const DenseWeight& dense, const DenseLayout& layout,
                          std::uint16_t* packed, CudaStream stream) {
  if (!Fits(dense)) return cudaErrorInvalidValue;
  const std::int64_t count =
      std::int64_t{dense.in_width / kStepInputs} * StepVectors(dense.out_width);
  return LaunchBlocks(PackKernel, BlocksFor(count, kThreads), kThreads, stream, dense, layout,
                      count, reinterpret_cast<uint4*>(packed));
}

CudaError LaunchPackDensePair(const DenseWeight& first, const DenseWeight& second, int piece,
                              std::uint16_t* packed, CudaStream stream) {
  if (!Fits(first) || first.in_width != second.out_width || first.out_width != second.in_width ||
      piece % kStepInputs != 0 || first.out_width % piece != 0) {
    return cudaErrorInvalidValue;
  }
  DenseLayout of_first = ByOutputs(first.in_width, piece);
  DenseLayout of_second = ByInputs(piece, second.out_width);
  of_second.offset = of_first.piece_vectors;
  of_first.piece_vectors += of_second.piece_vectors;
  of_second.piece_vectors = of_first.piece_vectors;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPackDense(first, of_first, packed, stream));
  return LaunchPackDense(second, of_second, packed, stream);
}

CudaError LaunchPackTransposedDense(const DenseWeight& dense, std::uint16_t* packed,
                                    CudaStream stream) {
  if (!Fits(dense)) return cudaErrorInvalidValue;
  const std::int64_t count =
      std::int64_t{dense.in_width / kLeftSide} * (dense.out_width / kLeftSide) * kWarpLanes;
  return LaunchBlocks(PackTransposedKernel, BlocksFor(count, kThreads), kThreads, stream, dense,
                      count, reinterpret_cast<uint4*>(packed));
}

CudaError LaunchPackDenseByInputs(const DenseWeight& dense, std::uint16_t* packed,
                                  CudaStream stream) {
  return LaunchPackDense(dense, ByInputs(kDensePiece, dense.out_width), packed, stream);
}

CudaError LaunchPackProjections(const DenseWeight& query, const DenseWeight& key,
                                const DenseWeight& value, std::uint16_t* packed,
                                CudaStream stream) {
  const int width = query.in_width;
  for (const DenseWeight* dense : {&query, &key, &value}) {
    if (dense->in_width != width || dense->out_width != width) {
      return cudaErrorInvalidValue;
    }
  }
  DenseLayout layout = ByOutputs(width, kDensePiece);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPackDense(query, layout, packed, stream));
  layout.tile_stride = 2;
  layout.first_tile = width / kTileOutputs;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPackDense(key, layout, packed, stream));
  ++layout.first_tile;
  return LaunchPackDense(value, layout, packed, stream);
}

}  // namespace interlacer
